// A small scale with the score and the threshold.

import { h } from "../core/dom.js";
import { real } from "../core/format.js";

export function scale(score, threshold) {
  if (score === null || threshold === null) return h("p", { class: "notice" }, "The score is no finite number.");
  const reach = Math.max(1, 1.25 * Math.abs(score - threshold));
  const at = (value) => `${(100 * (value - threshold + reach)) / (2 * reach)}%`;
  const side = score > threshold ? "anomaly" : "normal";
  const [low, high] = score > threshold ? [threshold, score] : [score, threshold];
  return h("div", { class: "scale", role: "img",
    "aria-label": `The score ${real(score)} is ${score > threshold ? "above" : "not above"} the threshold ${real(threshold)}.` },
  h("div", { class: "track" },
    h("span", { class: `reach ${side}`, style: { left: at(low), width: `calc(${at(high)} - ${at(low)})` } }),
    h("span", { class: "line", style: { left: at(threshold) } }),
    h("span", { class: `dot ${side}`, style: { left: at(score) } })),
  h("div", { class: "ends small muted" }, h("span", {}, "normal"), h("span", {}, `threshold ${real(threshold)}`),
    h("span", {}, "anomaly")));
}
