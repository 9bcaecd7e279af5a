// The big numbers of this moment: honest rates with their intervals beside the naive ones, labels, the queue.

import { byId, fill, h, svg } from "../core/dom.js";
import { count, duration, percent } from "../core/format.js";
import { context } from "../core/api.js";
import { targetWords } from "./words.js";

const part = (card, name) => card.querySelector(`[data-part="${name}"]`);
const reviewLink = () => h("a", { href: `${context.root}/tenants/${encodeURIComponent(context.tenant)}/settings` }, "review policy");

/** A picture of an interval between 0 and 1; the text beside it says the same. */
function picture(rate, naive) {
  const x = (value) => 100 * value;
  const parts = [svg("rect", { class: "scale", x: 0, y: 5, width: 100, height: 4, rx: 1 })];
  if (rate && rate.value !== null) {
    parts.push(svg("rect", { class: "band", x: x(rate.low), y: 3, width: Math.max(x(rate.high) - x(rate.low), 0.5), height: 8 }),
      svg("rect", { class: "point", x: Math.min(x(rate.value), 99), y: 1, width: 1, height: 12 }));
  }
  if (naive !== null && naive !== undefined) {
    parts.push(svg("rect", { class: "naive", x: Math.min(x(naive), 99), y: 1, width: 1, height: 12 }));
  }
  return svg("svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" }, parts);
}

function showRate(id, rate, naive, examples) {
  const card = byId(`stat-${id}`);
  const last = examples < 1000 ? `${count(examples)} labels` : "last 1,000 labels";
  if (rate.value !== null) {
    fill(part(card, "value"), percent(rate.value), h("span", { class: "kind" }, "honest"));
    fill(part(card, "note"), h("span", { class: "key honest" }, `${percent(rate.low)} to ${percent(rate.high)}, 95% sure`),
      naive !== null && h("span", { class: "key naive" }, `Naive ${percent(naive)}, ${last}`));
  } else {
    fill(part(card, "value"), naive === null ? "–" : [percent(naive), h("span", { class: "kind" }, `naive, ${last}`)]);
    fill(part(card, "note"), `No honest figure: ${rate.reason}. `, id === "balanced" && ["Label items that the ", reviewLink(), " chooses."]);
  }
  part(card, "note").classList.toggle("wanting", rate.value === null && naive === null);
  fill(part(card, "interval"), picture(rate, naive));
}

export function showRates(state) {
  const honest = state.honest.lately;
  const naive = state.recent;
  showRate("balanced", honest.balanced_accuracy, naive.balanced_accuracy, naive.examples);
  showRate("sensitivity", honest.sensitivity, naive.sensitivity, naive.examples);
  showRate("specificity", honest.specificity, naive.specificity, naive.examples);
}

export function showLabels(state, lastDay) {
  const card = byId("stat-labels");
  const { examples, positives, negatives } = state.counts;
  fill(part(card, "value"), count(examples));
  if (!examples) {
    fill(part(card, "note"), "No label yet. Label some items in review, or send labels to /feedback.");
    fill(part(card, "interval"));
    return;
  }
  const share = 100 * positives / examples;
  fill(part(card, "interval"), svg("svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "anomaly", x: 0, y: 3, width: Math.max(share - 0.4, 0), height: 8 }),
    svg("rect", { class: "normal", x: Math.min(share + 0.4, 100), y: 3, width: Math.max(99.6 - share, 0), height: 8 })));
  fill(part(card, "note"), `${count(positives)} anomalies, ${count(negatives)} normal.`);
  if (lastDay !== undefined) fill(part(card, "more"), `${count(lastDay)} in the last 24 hours.`);
}

export function showQueue(queue) {
  const card = byId("stat-queue");
  if (!queue) {
    fill(part(card, "value"), "–");
    fill(part(card, "note"), "The store does not answer.");
    return;
  }
  fill(part(card, "value"), count(queue.waiting));
  const age = queue.oldest_at ? (Date.now() - queue.oldest_at) / 1000 : null;
  const leased = queue.leased ? `${count(queue.leased)} being reviewed. ` : "";
  fill(part(card, "note"), queue.waiting + queue.leased === 0 ? "Nothing waits for a person."
    : `Waiting. ${leased}The oldest is ${duration(Math.max(age, 0))} old.`);
}

const HEALTH = { good: ["Good", "normal-text"], learning: ["Learning", ""], poor: ["Poor", "anomaly-text"] };

export function showHealth(state) {
  const card = byId("stat-health");
  const { status, detail, suggestions } = state.health;
  const [word, kind] = HEALTH[status];
  const parts = [];
  if (state.rebuilding !== null && state.rebuilding !== undefined) {
    parts.push(h("p", { class: "notice" }, `Labels are being taken back: ${percent(state.rebuilding, 0)} done. Predictions go on with the old model.`));
  }
  parts.push(h("p", { class: "note" }, detail));
  if (suggestions.length) parts.push(h("ul", { class: "note" }, suggestions.map((each) => h("li", {}, each))));
  if (state.target) {
    const [wanted, found] = targetWords(state.target);
    parts.push(h("p", { class: "note" }, `Target: ${wanted}; ${found}.`, !state.target.followed && ` It is not followed yet: ${state.target.reason}.`));
  }
  fill(part(card, "value"), h("span", { class: kind }, word));
  const words = part(card, "note");
  const text = parts.map((each) => each.textContent).join("");
  if (words.textContent !== text) fill(words, parts);
}
