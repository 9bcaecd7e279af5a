// History: who labelled what, and taking it back.

import { context, get, tenantPath } from "../core/api.js";
import { button, byId, empty, fill, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { Drawer } from "../history/detail.js";
import { fromAddress, fromForm, fromLocalTime, isEmpty, localTime, toAddress, toForm, toQuery } from "../history/filters.js";
import { askWhose, takeBack } from "../history/retraction.js";
import { row } from "../history/table.js";

const PAGE = 50;
const rows = byId("rows");
const status = byId("status");
const selection = byId("selection");
const selected = new Map();
let filters = fromAddress();
let shown = [];
let next = null;
let loading = null;

const drawer = new Drawer({
  step: (label, by) => shown[shown.findIndex((each) => each.version === label.version) + by],
  changed: () => load(),
  opened: (label) => {
    for (const each of rows.children) each.setAttribute("aria-selected", String(label && each.dataset.version === String(label.version)));
    toAddress(filters, label?.version);
  },
});

function draw(labels) {
  return labels.map((label) => row(label, {
    onOpen: (each) => drawer.show(each),
    onSelect: (each, isChosen) => {
      if (isChosen) selected.set(each.feedback_id, each);
      else selected.delete(each.feedback_id);
      showSelection();
    },
  }));
}

async function load(before) {
  loading?.abort();
  loading = new AbortController();
  const { signal } = loading;
  byId("more").hidden = true;
  try {
    const found = await get(tenantPath("/labels"), { ...toQuery(filters), limit: PAGE, before, inputs: true }, { signal });
    if (before) {
      shown = [...shown, ...found.labels];
      rows.append(...draw(found.labels));
    } else {
      shown = found.labels;
      selected.clear();
      fill(rows, draw(shown));
    }
    next = found.next;
    byId("more").hidden = next === null;
    showSelection();
    showState();
  } catch (error) {
    if (error.name === "AbortError") return;
    status.textContent = "";
    fill(byId("none"), empty("The labels cannot be shown", error.message));
  }
}

function showState() {
  status.textContent = `${count(shown.length)}${next === null ? "" : "+"} ${shown.length === 1 && next === null ? "label" : "labels"}`;
  byId("table").hidden = shown.length === 0;
  fill(byId("none"), shown.length === 0 && (isEmpty(filters)
    ? empty("No labels yet", "Labels appear here as soon as somebody, or a program, gives one.")
    : empty("No label fits these filters", "", button("Clear the filters", () => apply({}), { iconName: "cross" }))));
}

function showSelection() {
  selection.hidden = selected.size === 0;
  byId("selected-count").textContent = `${count(selected.size)} selected`;
  const boxes = [...rows.querySelectorAll("input[type=checkbox]")];
  const all = byId("select-all");
  if (!all) return;
  all.checked = boxes.length > 0 && boxes.every((box) => box.checked);
  all.indeterminate = !all.checked && boxes.some((box) => box.checked);
  all.disabled = boxes.length === 0;
}

function apply(wanted) {
  filters = { ...Object.fromEntries(Object.keys(filters).map((name) => [name, ""])), ...wanted };
  toForm(filters);
  toAddress(filters);
  showExports();
  byId("clear").hidden = isEmpty(filters);
  return load();
}

function showExports() {
  for (const format of ["csv", "jsonl"]) {
    const query = new URLSearchParams({ format });
    for (const [name, value] of Object.entries(toQuery(filters))) if (value) query.set(name, value);
    byId(`export-${format}`).href = `${context.api}${tenantPath("/labels")}?${query}`;
  }
}

async function suggestModerators() {
  try {
    const { moderators } = await get(tenantPath("/moderators"));
    fill(byId("moderators"), moderators.filter((each) => each.moderator).map((each) => h("option", { value: each.moderator })));
  } catch {
    // They are only suggestions.
  }
}

async function retractMany(wanted, title) {
  if (await takeBack(wanted, title)) await load();
}

let waiting;
byId("filters").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => apply(fromForm()), 350); });
byId("filters").addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(waiting); apply(fromForm()); });
byId("clear").addEventListener("click", () => { apply({}); byId("filter-moderator").focus(); });
byId("more-filters").addEventListener("click", (event) => {
  const isOpen = byId("filters").classList.toggle("open");
  event.currentTarget.setAttribute("aria-expanded", String(isOpen));
  event.currentTarget.textContent = isOpen ? "Fewer filters" : "More filters";
});
byId("more").addEventListener("click", () => load(next));
byId("selection-clear").addEventListener("click", () => {
  for (const box of rows.querySelectorAll("input[type=checkbox]")) box.checked = false;
  selected.clear();
  showSelection();
});
byId("selection-retract").addEventListener("click", () => retractMany({ feedback_ids: [...selected.keys()] },
  selected.size === 1 ? "Take back this label" : `Take back ${count(selected.size)} labels`));
byId("select-all")?.addEventListener("change", (event) => {
  for (const box of rows.querySelectorAll("input[type=checkbox]")) {
    if (box.checked !== event.target.checked) box.click();
  }
});
byId("retract-whose")?.addEventListener("click", async () => {
  const wanted = await askWhose(filters, { localTime, fromLocalTime });
  if (wanted) await retractMany(wanted, wanted.moderator ? "Take back the labels of a moderator" : "Take back the labels of a key");
});

const open = new URLSearchParams(location.search).get("open");
await apply(filters);
const wanted = open && shown.find((label) => String(label.version) === open);
if (wanted) drawer.show(wanted);
byId("filter-moderator").addEventListener("focus", suggestModerators, { once: true }); // it reads many labels
