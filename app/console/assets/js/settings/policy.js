// What the review policy asks of people, in a sentence.

import { h, fill } from "../core/dom.js";
import { count, percent } from "../core/format.js";
import { context } from "../core/api.js";

const REMEMBERED = `sluice-items-a-day-${context.tenant}`;
const USUAL = 10_000;
const GUESS = 0.05; // of items that are flagged, where nothing is known

/** Return {element, show(value)}; `value(name)` gives a setting as it is in the form. */
export function policyOf(flagged) {
  const field = h("input", { id: "items-a-day", type: "text", inputmode: "numeric", value: localStorage.getItem(REMEMBERED) ?? String(USUAL),
    oninput: () => { localStorage.setItem(REMEMBERED, field.value); again(); } });
  const words = h("p", { class: "policy-words", "aria-live": "polite" });
  const element = h("div", { class: "policy" }, h("div", { class: "row center" }, h("label", { for: "items-a-day" }, "With so many items a day"), field), words,
    h("p", { class: "muted small" }, flagged === null ? `What share is flagged is not known yet; ${percent(GUESS, 0)} is supposed.`
      : `${percent(flagged)} of the items are flagged now.`,
    " An estimate: a model without an opinion, or one that is no better than chance, asks more often. Choices are spread over the day, hour by hour."));
  let last = () => null;
  const again = () => fill(words, sentence(last, Number(field.value.replace(/[,\s]/g, "")), flagged ?? GUESS));
  return { element, show(value) { last = value; again(); } };
}

function sentence(value, items, flagged) {
  const [uncertain, alarms, random, band] = ["review_uncertain", "review_flagged", "review_random", "review_band"].map((name) => Number(value(name)) || 0);
  const budget = value("reviews_per_day");
  if (!random) return "There is no review policy: the share at random is 0. Nothing is put up for review, and honest figures are not known.";
  if (!(items > 0)) return "Enter how many items come in a day.";
  // The threshold is in the middle of the band, so about half of it is flagged.
  const parts = [
    ["uncertain", items * band * Math.max(uncertain, random)],
    ["flagged", items * Math.max(flagged - band / 2, 0) * Math.max(alarms, random)],
    ["at random", items * Math.max(1 - band - Math.max(flagged - band / 2, 0), 0) * random],
  ];
  const wanted = parts.reduce((sum, [, number]) => sum + number, 0);
  const pace = budget === null || budget === "" ? 1 : Math.min(1, Number(budget) / wanted);
  const list = parts.map(([what, number]) => `${count(pace * number)} ${what}`).join(", ");
  const text = `About ${count(pace * wanted)} of ${count(items)} a day are put up for review: ${list}.`;
  if (pace === 1) return text;
  return `${text} The budget scales every share to ${percent(pace, pace < 0.1 ? 1 : 0)}: without it, there would be ${count(wanted)}.`;
}
