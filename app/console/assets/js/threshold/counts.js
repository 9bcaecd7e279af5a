// What happens to some items now, and with the marked threshold.

import { fill, h } from "../core/dom.js";
import { count, percent, real } from "../core/format.js";
import { anomalyShare, outcome, roundNumber } from "./curve.js";
import { band, items, shown } from "./words.js";

const ROWS = [
  ["flagged", "Flagged", ""],
  ["found", "Anomalies found", "inner"],
  ["alarms", "False alarms", "inner"],
  ["missed", "Anomalies missed", ""],
  ["left", "Normal, left alone", ""],
];

/** Return {element, show(point)} for a curve. */
export function countsOf(curve) {
  const share = anomalyShare(curve.points);
  const of = roundNumber(share);
  const now = outcome(curve.now, share, of);
  const head = h("th", { scope: "col", class: "number" });
  const cells = Object.fromEntries(ROWS.map(([name]) => [name, [h("td", { class: "number" }), h("td", { class: "number change-cell" })]]));
  const element = h("div", { class: "card counts" }, h("h2", {}, `Of ${count(of)} items`),
    h("table", {},
      h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col", class: "number" }, "Now"), head,
        h("th", { scope: "col", class: "number" }, "Change"))),
      h("tbody", {}, ROWS.map(([name, title, kind]) => h("tr", { class: kind }, h("th", { scope: "row" }, title),
        h("td", { class: "number" }, both(now[name])), cells[name])))),
    h("p", { class: "muted small" }, share === null ? "The share of anomalies is not known yet."
      : `About ${percent(share)} of the items are anomalies, as lately. Small figures: 95% intervals of the rates.`));
  return {
    element,
    of,
    at: (point) => outcome(point, share, of),
    show(point) {
      fill(head, "At ", real(point.threshold));
      const then = outcome(point, share, of);
      for (const [name] of ROWS) {
        fill(cells[name][0], both(then[name]));
        fill(cells[name][1], difference(now[name], then[name]));
      }
    },
  };
}

const both = (each) => [h("span", { class: "value" }, shown(each)), h("span", { class: "band" }, band(each))];

function difference(before, after) {
  if (before === null || after === null) return "–";
  const by = after.value - before.value;
  if (items(Math.abs(by)) === "0") return "0";
  return `${by < 0 ? "−" : "+"}${items(Math.abs(by))}`;
}
