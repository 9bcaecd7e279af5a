// The labels for which the verdict would be another, with a link to each item.

import { context, get, tenantPath } from "../core/api.js";
import { badge, button, fill, h, labelBadge } from "../core/dom.js";
import { count, real, time } from "../core/format.js";
import { cut, defang, visible } from "../core/text.js";

const PAGE = 25;
const AT_ONCE = 3; // requests for what the items were
const FILTERS = [["all", "All", () => true], ["corrected", "Corrected", isCorrected], ["spoilt", "Spoilt", (flip) => !isCorrected(flip)]];

function isCorrected(flip) {
  return flip.other.label === flip.label;
}

export function flipsOf(found, signal) {
  if (!found.flipped) return null;
  let filter = "all";
  let most = PAGE;
  const filters = h("div", { class: "segments", role: "group", "aria-label": "Which of them" });
  const body = h("tbody");
  const more = h("div", { class: "more" });
  const cells = new Map();
  const show = () => {
    const wanted = found.flips.filter(FILTERS.find(([name]) => name === filter)[2]);
    fill(filters, FILTERS.map(([name, text]) => h("button", { type: "button", "aria-pressed": String(name === filter),
      onclick: () => { filter = name; most = PAGE; show(); } }, text)));
    fill(body, wanted.slice(0, most).map((flip) => rowOf(flip, cells)));
    fill(more, !wanted.length && h("p", { class: "muted" }, "None of the newest."),
      wanted.length > most && button(`Show more of ${count(wanted.length)}`, () => { most += PAGE; show(); }, { kind: "small" }));
    describe(wanted.slice(0, most), cells, signal);
  };
  show();
  return h("section", { "aria-label": "Flipped verdicts", class: "flips" },
    h("div", { class: "row center flips-head" }, h("h2", {}, found.flips.length < found.flipped ? `The newest ${count(found.flips.length)} flips` : "Flipped verdicts"),
      h("span", { class: "spacer" }), filters),
    h("div", { class: "table-frame" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Item", "Label", "As it is", "The other side", "Result", "Given"].map((text) =>
        h("th", { scope: "col" }, text)))),
      body)), more);
}

function rowOf(flip, cells) {
  const id = flip.prediction_id;
  const cell = cells.get(id) ?? h("span", { class: "item" }, visible(id ?? flip.feedback_id ?? `label ${flip.version}`));
  if (id) cells.set(id, cell);
  const name = id
    ? h("a", { href: `${context.root}${tenantPath("/history")}?prediction=${encodeURIComponent(id)}` }, cell)
    : cell;
  return h("tr", { data: { flip: isCorrected(flip) ? "corrected" : "spoilt" } },
    h("td", { class: "what" }, name), h("td", {}, labelBadge(flip.label)), side(flip.actual), side(flip.other),
    h("td", {}, isCorrected(flip) ? badge("corrected", "accent") : badge("spoilt", "warn")),
    h("td", { class: "small" }, h("span", { class: "nowrap" }, time(flip.at)), flip.moderator && h("span", { class: "muted by" }, "by ", h("bdi", {}, visible(flip.moderator)))));
}

const side = ({ label, score }) => h("td", { class: "nowrap" }, h("span", { class: label === 1 ? "anomaly-text" : "normal-text" }, label === 1 ? "anomaly" : "normal"),
  " ", h("span", { class: "muted small score" }, real(score, 2)));

/** Show what the items were, as far as that is kept. */
async function describe(flips, cells, signal) {
  const waiting = flips.map((each) => each.prediction_id).filter((id) => id && !cells.get(id).dataset.known);
  const next = async () => {
    const id = waiting.shift();
    if (!id || signal.aborted) return;
    const cell = cells.get(id);
    cell.dataset.known = "true";
    try {
      const found = await get(`/predictions/${encodeURIComponent(id)}`, { tenant: context.tenant, explain: 0 }, { signal });
      cell.textContent = textOf(found) ?? cell.textContent;
      cell.dir = "auto";
      cell.title = visible(id);
    } catch (error) {
      if (error.name === "AbortError" || error.status === 401) return; // otherwise it is not kept any more, and its id stays
    }
    await next();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

function textOf({ input, features }) {
  if (input?.kind === "url") return cut(defang(input.url), 140);
  if (input?.kind === "text") return cut(visible(input.text).replace(/\s+/g, " "), 140);
  if (input?.kind === "email") return cut(visible(input.parts.subject || input.parts.from || "(no subject)"), 140);
  const names = features && Object.keys(features);
  return names?.length ? cut(visible(names.slice(0, 6).join(", ")), 140) : null;
}
