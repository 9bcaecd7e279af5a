// The counts and rates of the page, in words.

import { count, percent } from "../core/format.js";

export const NAMES = { sensitivity: "Sensitivity", specificity: "Specificity", precision: "Precision", flagged: "Flagged share" };
export const MEANINGS = {
  sensitivity: "share of anomalies that are flagged",
  specificity: "share of normal items that are left alone",
  precision: "share of flagged items that are anomalies",
  flagged: "share of all items that are flagged",
};
export const TARGETS = {
  false_positive_rate: { title: "False positive rate", text: "Share of normal items that are flagged.", isShare: true, first: 1 },
  sensitivity: { title: "Sensitivity", text: "Share of anomalies that are flagged.", isShare: true, first: 90 },
  precision: { title: "Precision", text: "Share of flagged items that are anomalies.", isShare: true, first: 80 },
  reviews_per_day: { title: "Flagged items per day", text: "So many items are flagged in a day.", isShare: false, first: 100 },
};
export const OBJECTIVES = {
  balanced: { title: "Balanced accuracy", text: "A missed share of the anomalies weighs as much as an equal share of false alarms among the normal items." },
  error: { title: "Fewest wrong verdicts", text: "Every wrong verdict weighs the same. Where anomalies are rare, more of them are missed." },
  cost: { title: "Least cost", text: "A missed anomaly and a false alarm cost what you say; the sum is kept low." },
};


const small = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
/** A count of items: with a decimal if there are few. */
export const items = (value) => (value < 9.95 ? small.format(value) : count(value));
export const shown = (each) => (each === null ? "not known" : items(each.value));
export const band = (each) => (each === null || each.value === null ? "" : `${items(each.low)} to ${items(each.high)}`);
export const rate = (each) => percent(each.value, each.value !== null && (each.value > 0.99 || each.value < 0.01) ? 2 : 1);
export const rateBand = (each) => (each.value === null ? each.reason ?? "not known" : `${percent(each.low)} to ${percent(each.high)}`);

/** One sentence about what happens to some items. */
export function sentence(found, of) {
  if (found.flagged === null) return "There is nothing to count yet.";
  const flagged = `Of ${count(of)} items, ${items(found.flagged.value)} are flagged`;
  if (found.found === null || found.missed === null) return `${flagged}.`;
  const missed = items(found.missed.value);
  return `${flagged}, ${items(found.found.value)} of them anomalies; ${missed} ${missed === "1" ? "anomaly is" : "anomalies are"} missed.`;
}

/** What determines the threshold now. */
export function source({ config, target }) {
  if (target) {
    const { title, isShare } = TARGETS[target.name];
    return `It follows the target: ${title.toLowerCase()} ${isShare ? percent(target.value, 2).replace(/\.?0+%$/, "%") : items(target.value)}.`;
  }
  if (config.threshold !== "auto") return "It is fixed: labels do not move it.";
  return `It is learnt from the labels, best for: ${OBJECTIVES[config.objective].title.toLowerCase()}.`;
}
