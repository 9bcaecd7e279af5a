// What the model says about an item, and why the item is in the queue.

import { h } from "../core/dom.js";
import { ago, count, decimal, duration, percent, signed, time } from "../core/format.js";
import { verdictBadge } from "./item.js";
import { chanceOf, whyQueued } from "./words.js";

/** `threshold` is that of the tenant; null if it is not known. */
export function verdictNode(item, threshold) {
  const now = item.now ?? item;
  const served = item.now && item.label !== null && (item.now.label !== item.label || item.now.version !== item.version);
  const facts = [
    ["Score", [h("span", {}, signed(now.score)), distance(now.score, threshold)]],
    ["In the queue", [whyQueued(item), chanceOf(item) && h("span", { class: "muted" }, ` · ${chanceOf(item)}`)]],
    item.at && ["Came", h("span", { title: time(item.at) }, ago(item.at))],
    served && ["Answered then", [`${item.label === 1 ? "anomaly" : "normal"} ${signed(item.score)}`,
      item.version !== null && h("span", { class: "muted" }, ` · version ${count(item.version)}`)]],
    item.unsure > 0 && ["Unsure", item.unsure === 1 ? "1 person was unsure" : `${item.unsure} people were unsure`],
  ];
  return h("div", {},
    h("div", { class: "verdict" }, verdictBadge(now.label),
      now.probability !== null && now.probability !== undefined
        && h("span", { class: "probability" }, `${percent(now.probability, 0)} `, h("span", { class: "muted" }, "likely an anomaly"))),
    h("dl", { class: "facts" }, facts.filter(Boolean).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

function distance(score, threshold) {
  if (score === null || threshold === null) return null;
  const by = score - threshold;
  return h("span", { class: "muted" }, ` · ${decimal(Math.abs(by), 2)} ${by > 0 ? "above" : "below"} the threshold`);
}

/** For how long an item has waited, in words. */
export const waited = (item) => duration(item.age_seconds);
