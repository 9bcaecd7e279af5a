import { get } from "../core/api.js";
import { byId, empty, fail, fill, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { firstRun } from "../tenants/first-run.js";
import { row } from "../tenants/rows.js";

const LIMIT = 50;
const REFRESH_MILLISECONDS = 10000;
const SOON_MILLISECONDS = 3000; // where there is no tenant yet, or more are being loaded
const TYPING_MILLISECONDS = 200;

let offset = 0;
let controller = null;
let timer = 0;
let hasFailed = false;
let isChanging = false;
let known = 0; // tenants with figures, when they were read last

async function show() {
  clearTimeout(timer);
  controller?.abort();
  controller = new AbortController();
  const search = byId("search").value.trim();
  try {
    const found = await get("/overview", { limit: LIMIT, offset, search }, { signal: controller.signal });
    hasFailed = false;
    if (offset && offset >= found.total) { offset = 0; show(); return; }
    showPage(found, search);
    isChanging = found.total === 0 || (found.loaded < found.total && found.loaded !== known);
    known = found.loaded;
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!hasFailed) fail(error);
    hasFailed = true;
    byId("summary").textContent = "Not up to date: the service does not answer.";
  }
  timer = setTimeout(show, isChanging ? SOON_MILLISECONDS : REFRESH_MILLISECONDS);
}

function showPage({ tenants, total, loaded, next }, search) {
  const isFirstRun = total === 0 && !search;
  byId("content").hidden = isFirstRun;
  byId("search").hidden = isFirstRun;
  const start = byId("first-run");
  if (isFirstRun && start.hidden) fill(start, firstRun());
  start.hidden = !isFirstRun;
  byId("summary").textContent = isFirstRun ? "" : words(total, loaded, search);
  keepFocus(() => fill(byId("rows"), tenants.length ? tenants.map(row)
    : h("tr", {}, h("td", { colspan: 8 }, empty("No such tenant", `No name has “${search}” in it.`)))));
  byId("earlier").disabled = offset === 0;
  byId("later").disabled = next === null;
  byId("place").textContent = total > LIMIT ? `${count(offset + 1)} to ${count(offset + tenants.length)} of ${count(total)}` : "";
}

function words(total, loaded, search) {
  const found = `${count(total)} ${total === 1 ? "tenant" : "tenants"}${search ? " found" : ""}, the worst first`;
  return loaded < total ? `${found}. ${count(total - loaded)} are not in memory and come last.` : `${found}.`;
}

/** New rows must not take the focus from where a keyboard has put it. */
function keepFocus(change) {
  const focused = document.activeElement?.closest("#rows a");
  const label = focused?.getAttribute("href");
  const place = focused ? [...byId("rows").querySelectorAll(`a[href="${CSS.escape(label)}"]`)].indexOf(focused) : -1;
  change();
  if (focused) byId("rows").querySelectorAll(`a[href="${CSS.escape(label)}"]`)[place]?.focus({ preventScroll: true });
}

byId("search").addEventListener("input", () => {
  clearTimeout(timer);
  offset = 0;
  timer = setTimeout(show, TYPING_MILLISECONDS);
});
byId("earlier").addEventListener("click", () => { offset = Math.max(offset - LIMIT, 0); show(); });
byId("later").addEventListener("click", () => { offset += LIMIT; show(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, textarea, dialog")) {
    event.preventDefault();
    byId("search").focus();
  }
});
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : show()));
show();
