// Agreement in words, and as a place on a scale.

import { h } from "../core/dom.js";
import { count, percent } from "../core/format.js";

const LOWEST = -0.2; // of the scale
const WIDE = 0.5; // an interval so wide says little

/** What a kappa means. */
export function verdict(kappa) {
  if (kappa.value === null) return { word: "not known", kind: "" };
  if (kappa.high - kappa.low > WIDE) return { word: "too few to tell", kind: "" };
  if (kappa.value < 0.4) return { word: "poor", kind: "anomaly" };
  if (kappa.value < 0.6) return { word: "fair", kind: "warn" };
  return { word: kappa.value < 0.8 ? "good" : "very good", kind: "normal" };
}

export const number = (value) => (value === null ? "–" : value.toFixed(2).replace("-", "−"));
export const interval = (kappa) => (kappa.value === null ? "" : `${number(kappa.low)} to ${number(kappa.high)}`);

/** The overall agreement: the number, its word, its interval on a scale, and what it rests on. */
export function overallCard(overall) {
  const isBlind = overall.blind.pairs > 0;
  const kappa = isBlind ? overall.blind : overall.corrections;
  const { word, kind } = verdict(kappa);
  return [
    h("h2", { id: "agreement-title" }, "Agreement between people"),
    h("div", { class: "headline" },
      h("span", { class: "value" }, number(kappa.value)),
      h("span", { class: `badge ${kind}`.trim() }, word)),
    scale(kappa),
    h("p", { class: "small" }, sentence(kappa, isBlind)),
    isBlind && overall.corrections.pairs > 0 && h("p", { class: "muted small" },
      `Corrections: ${number(overall.corrections.value)} over ${count(overall.corrections.pairs)} predictions. People mostly correct what they take for a mistake, so this tends to be lower than the truth.`),
  ];
}

function sentence(kappa, isBlind) {
  if (kappa.pairs === 0) {
    return "No prediction has been judged by two people yet. Blind second reviews and corrections show how far people agree.";
  }
  const what = isBlind ? "in blind second reviews" : "where somebody labelled a prediction again";
  if (kappa.value === null) return `Unknown, although ${count(kappa.pairs)} predictions were judged twice ${what}: ${kappa.reason}.`;
  const same = `People agree on ${percent(kappa.agreement, 0)} of ${count(kappa.pairs)} ${kappa.pairs === 1 ? "prediction" : "predictions"} ${what}.`;
  const beyond = `Beyond chance that is kappa ${number(kappa.value)}, and with 95% confidence ${interval(kappa)}.`;
  const caution = isBlind ? "" : " People mostly correct what they take for a mistake, so the truth is probably higher: blind second reviews are fairer.";
  return `${same} ${beyond}${caution}`;
}

function scale(kappa) {
  const place = (value) => `${(100 * (Math.min(Math.max(value, LOWEST), 1) - LOWEST)) / (1 - LOWEST)}%`;
  const width = (low, high) => `calc(${place(high)} - ${place(low)})`;
  return h("div", { class: "kappa-scale", role: "img", "aria-label": kappa.value === null ? "Agreement is not known" : `Kappa ${number(kappa.value)}, ${interval(kappa)}` },
    h("div", { class: "track" },
      [["anomaly", LOWEST, 0.4], ["warn", 0.4, 0.6], ["normal", 0.6, 1]].map(([kind, low, high]) =>
        h("i", { class: `zone ${kind}`, style: { left: place(low), width: width(low, high) } })),
      kappa.value !== null && h("i", { class: "interval", style: { left: place(kappa.low), width: width(kappa.low, kappa.high) } }),
      kappa.value !== null && h("i", { class: "point", style: { left: place(kappa.value) } })),
    h("div", { class: "ticks", "aria-hidden": "true" }, [[0, "0 chance"], [0.4, "0.4"], [0.6, "0.6"], [1, "1"]].map(([value, text]) =>
      h("span", { style: { left: place(value) } }, text))));
}
