// Words for what the service has as names.

import { percent, decimal, signed } from "../core/format.js";

const ALGORITHMS = {
  ssol: "sparse second-order", "cs-ssol": "sparse second-order, cost-sensitive", sol: "sparse second-order", "cs-sol": "sparse second-order, cost-sensitive",
  "cs-fsol": "sparse first-order, cost-sensitive", fsol: "sparse first-order",
};
export const algorithmWords = (name) => ALGORITHMS[name] || "";

const OBJECTIVES = { balanced: "for balanced accuracy", error: "for the fewest errors", cost: "for the lowest cost" };

export function thresholdWords(state, config) {
  const now = signed(state.threshold, 3);
  if (state.target) return `${now}, follows the target`;
  if (config.threshold === "auto") return `${now}, learnt ${OBJECTIVES[config.objective] || ""}`;
  return `${now}, fixed`;
}

const TARGETS = {
  false_positive_rate: ["False alarms among normal items", percent], sensitivity: ["Anomalies found", percent],
  precision: ["Anomalies among alarms", percent], reviews_per_day: ["Alarms per day", (value) => decimal(value, 1)],
};

/** The target in words, and what it was lately. */
export function targetWords(target) {
  const [name, show] = TARGETS[target.name];
  const { value, low, high } = target.realised;
  return [`${name}: ${show(target.value)}`,
    value === null ? "not known yet" : `${show(value)} lately (${show(low)} to ${show(high)})`];
}

export function policyWords(config) {
  if (!config.review_random) return "none: no item is chosen for review";
  const parts = [`${percent(config.review_random, 1)} of everything`];
  if (config.review_flagged) parts.push(`${percent(config.review_flagged, 0)} of alarms`);
  if (config.review_uncertain) parts.push(`${percent(config.review_uncertain, 0)} of uncertain ones`);
  return `${parts.join(", ")}${config.reviews_per_day ? `; at most ${config.reviews_per_day} a day` : ""}`;
}

const UNITS = [["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** "day" for 86,400; "6 hours" for 21,600. */
export function periodWords(seconds) {
  const [name, size] = UNITS.find(([, each]) => seconds % each === 0) || ["second", 1];
  const number = seconds / size;
  return number === 1 ? name : `${number} ${name}s`;
}
