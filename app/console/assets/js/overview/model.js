// What the model has learnt, and what it is: weights in words, size, settings in short, drift.

import { byId, empty, fill, h } from "../core/dom.js";
import { bytes, count, decimal, percent, signed } from "../core/format.js";
import { cut, visible } from "../core/text.js";
import { algorithmWords, policyWords, targetWords, thresholdWords } from "./words.js";

export const WEIGHTS = 12;

export function showWeights(weights) {
  const place = byId("weights");
  if (!weights.length) {
    fill(place, empty("Nothing learnt yet", "The model learns from the first label on. Then its largest weights are here."));
    return;
  }
  const largest = Math.max(...weights.map((each) => Math.abs(each.weight)));
  fill(place, h("div", { class: "ends" }, h("span", {}), h("span", { "aria-hidden": "true" }, h("span", {}, "normal"), h("span", {}, "anomaly")), h("span", {})),
    h("ul", { class: "reasons" }, weights.map(({ feature, text, weight }) => {
      const side = weight > 0 ? "anomaly" : "normal";
      return h("li", { class: "reason", title: visible(cut(feature, 200)) }, h("bdi", {}, visible(cut(text || feature, 120))),
        h("span", { class: "bar", "aria-hidden": "true" }, h("i", { class: side, style: { width: `${50 * Math.abs(weight) / largest}%` } })),
        h("span", { class: `number small ${side}-text` }, signed(weight), h("span", { class: "visually-hidden" }, ` towards ${side}`)));
    })));
}

const fact = (name, ...value) => [h("dt", {}, name), h("dd", {}, value)];

export function showModel(state) {
  const { config } = state;
  const words = algorithmWords(state.algorithm);
  fill(byId("model"), h("dl", { class: "facts" },
    fact("Algorithm", h("code", {}, state.algorithm), words && ` ${words}`),
    fact("Threshold", thresholdWords(state, config)),
    state.target && fact("Target", targetWords(state.target)[0], h("br"), h("span", { class: "muted" }, targetWords(state.target)[1])),
    fact("Review policy", policyWords(config)),
    fact("Features", `${count(state.features)}, of which ${count(state.nonzero_weights)} have a weight`),
    fact("Sparsity", state.sparsity === null ? "–" : `${percent(state.sparsity)} of the weights are zero`),
    state.dropped_features > 0 && fact("Dropped", `${count(state.dropped_features)} features, because the model is full`),
    fact("Size", `${bytes(state.memory_bytes)}, at most ${count(config.max_features)} features`),
    fact("Version", `${count(state.version)} events`, " ", h("code", { class: "muted", title: "Digest: equal on every replica" }, state.digest.slice(0, 12)))),
  drift(state.drift));
}

function drift({ anomaly, normal }) {
  const row = (name, each, wrong) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, count(each.worse)),
    h("td", { class: "number" }, count(each.better)), h("td", { class: "number" }, each.error === null ? "–" : `${percent(each.error)} ${wrong}`));
  return h("table", {}, h("caption", { class: "visually-hidden" }, "Drift"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Drift"),
    h("th", { scope: "col", class: "number" }, "Worse"), h("th", { scope: "col", class: "number" }, "Better"), h("th", { scope: "col", class: "number" }, "Since then"))),
  h("tbody", {}, row("Anomalies", anomaly, "missed"), row("Normal items", normal, "flagged")));
}
