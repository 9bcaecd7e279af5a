// What a comparison found: in words, as rates, and as two confusion matrices.

import { badge, h } from "../core/dom.js";
import { count, percent, signed } from "../core/format.js";

const RATES = [
  ["balanced_accuracy", "Balanced accuracy", 1, "mean of the next two"],
  ["sensitivity", "Sensitivity", 1, "share of labelled anomalies that were flagged"],
  ["specificity", "Specificity", 1, "share of labelled normal items that were left alone"],
  ["error", "Error", -1, "share of wrong verdicts"],
];
const CERTAIN = 1.96; // standard errors

export function summaryOf(found) {
  return h("section", { class: "card what-summary", "aria-label": "Result", tabindex: -1 },
    h("p", { class: "headline" }, headline(found)), h("p", { class: "muted" }, certainty(found),
      found.labels > 0 && " The figures are those of labelled items; people label mostly what was flagged or doubtful."), caveats(found));
}

function headline({ labels, flipped, corrected, spoilt }) {
  if (!labels) return "No label was compared.";
  if (!flipped) return `All ${count(labels)} verdicts would be the same.`;
  return [`${count(flipped)} of ${count(labels)} verdicts would be different: `, h("span", { class: "normal-text" }, `${count(corrected)} corrected`), ", ",
    h("span", { class: "anomaly-text" }, `${count(spoilt)} spoilt`), "."];
}

/** McNemar's test: without a difference, a flip corrects as often as it spoils. */
function certainty({ flipped, corrected, spoilt }) {
  if (!flipped) return "";
  const by = corrected - spoilt;
  const certain = Math.abs(by) / Math.sqrt(flipped) >= CERTAIN;
  if (!certain) return "As many would be corrected as spoilt, within chance: these labels do not show that one side is better.";
  return by > 0 ? `${count(by)} fewer wrong verdicts among these labels, which is more than chance.`
    : `${count(-by)} more wrong verdicts among these labels, which is more than chance.`;
}

function caveats({ start_version: start, refused, actual, other }) {
  return [
    start > 0 && h("p", { class: "notice" }, `The log is kept from version ${count(start)} on, so both sides begin with the model of then.`
      + (actual.config.algorithm === other.config.algorithm ? "" : " Another algorithm begins without weights: compare only labels some thousand later.")),
    refused > 0 && h("p", { class: "notice" }, `${count(refused)} labels could not be learnt by one of the sides, and are left out.`),
  ];
}

export function ratesOf({ actual, other, difference }) {
  return h("div", { class: "table-frame" }, h("table", { class: "rates" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Rate"), ["As it is", "The other side", "Difference"]
      .map((text) => h("th", { scope: "col", class: "number" }, text)))),
    h("tbody", {}, RATES.map(([name, title, good, text]) => h("tr", {},
      h("th", { scope: "row" }, title, h("span", { class: "muted small" }, text)),
      h("td", { class: "number" }, percent(actual[name], 2)), h("td", { class: "number" }, percent(other[name], 2)),
      h("td", { class: `number ${sideOf(good * (difference[name] ?? 0))}` }, difference[name] === null ? "–" : points(difference[name])))))));
}

const points = (value) => (Math.abs(value) < 5e-5 ? "0" : `${signed(100 * value)} points`);
const sideOf = (value) => (Math.abs(value) < 5e-5 ? "" : value > 0 ? "normal-text" : "anomaly-text");

/** A side's verdicts against the labels. */
export function matrixOf(title, side, before = side) {
  const cell = (name, kind) => {
    const by = side[name] - before[name];
    return h("td", { class: `number ${kind}` }, h("span", { class: "value" }, count(side[name])),
      h("span", { class: "by" }, by ? `${by < 0 ? "−" : "+"}${count(Math.abs(by))}` : "\u00a0"));
  };
  return h("div", { class: "card" }, h("table", { class: "matrix" }, h("caption", {}, title),
    h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col", class: "number" }, "Flagged"), h("th", { scope: "col", class: "number" }, "Left alone"))),
    h("tbody", {},
      h("tr", {}, h("th", { scope: "row" }, "Labelled anomaly"), cell("true_positives", "right"), cell("false_negatives", "wrong")),
      h("tr", {}, h("th", { scope: "row" }, "Labelled normal"), cell("false_positives", "wrong"), cell("true_negatives", "right")))),
  h("p", { class: "muted small" }, badge(side.config.algorithm), ` threshold ${side.config.threshold}`));
}
