// Why the model answered as it did, then and now, as signed bars side by side: right is anomaly, left is normal.

import { badge, h, labelBadge } from "../core/dom.js";
import { count, percent, signed } from "../core/format.js";
import { visible } from "../core/text.js";

const ROWS = 12;

export function thenAndNow(prediction) {
  const sides = { then: prediction.then, now: prediction.now };
  const rows = rowsOf(sides);
  const largest = Math.max(...rows.flatMap((row) => [Math.abs(row.then || 0), Math.abs(row.now || 0)]), 1e-9);
  return h("div", { class: "then-now" },
    h("div", { class: "verdicts" },
      verdict("When it was answered", sides.then || prediction, !sides.then),
      verdict("Now", sides.now, false)),
    prediction.then_unknown && h("p", { class: "muted small" }, `The reasons then are not known: ${prediction.then_unknown}.`),
    rows.length > 0 && h("table", { class: "reasons-table" },
      h("caption", { class: "visually-hidden" }, "Reasons, towards an anomaly (plus) or towards normal (minus)"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Reason"),
        sides.then && h("th", { scope: "col" }, "Then"), sides.now && h("th", { scope: "col" }, "Now"))),
      h("tbody", {}, rows.map((row) => h("tr", {},
        h("th", { scope: "row" }, h("bdi", {}, visible(row.text))),
        sides.then && h("td", {}, bar(row.then, largest)),
        sides.now && h("td", {}, bar(row.now, largest)))))));
}

function verdict(title, side, isBrief) {
  if (!side || side.label === null) return h("div", { class: "verdict" }, h("h3", {}, title), badge("unknown"));
  return h("div", { class: "verdict" }, h("h3", {}, title),
    h("div", { class: "row center" }, labelBadge(side.label),
      h("span", { class: "mono" }, side.score === null ? "no score" : signed(side.score, 3)),
      !isBrief && side.probability !== null && h("span", { class: "muted" }, `${percent(side.probability, 0)} anomaly`),
      side.version !== null && h("span", { class: "muted small" }, `version ${count(side.version)}`)));
}

function rowsOf(sides) {
  const found = new Map();
  for (const [when, side] of Object.entries(sides)) {
    for (const reason of side?.reasons || []) {
      const row = found.get(reason.text) || { text: reason.text };
      row[when] = (row[when] || 0) + reason.contribution;
      found.set(reason.text, row);
    }
  }
  const size = (row) => Math.max(Math.abs(row.then || 0), Math.abs(row.now || 0));
  return [...found.values()].sort((a, b) => size(b) - size(a)).slice(0, ROWS);
}

function bar(value, largest) {
  if (value === undefined) return h("span", { class: "muted" }, "–", h("span", { class: "visually-hidden" }, " not among the reasons"));
  const width = `${Math.max((50 * Math.abs(value)) / largest - 1, 1)}%`;
  return h("span", { class: "signed" },
    h("span", { class: "bar", "aria-hidden": "true" }, h("i", { class: value < 0 ? "normal" : "anomaly", style: { width } })),
    h("span", { class: "number mono" }, signed(value), h("span", { class: "visually-hidden" },
      value < 0 ? " towards normal" : " towards anomaly")));
}

export const accuracyText = (figures) => (figures.balanced_accuracy === null ? "not known yet" : percent(figures.balanced_accuracy));
