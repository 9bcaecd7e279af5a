// Labels in words: who gave them, and what became of them.

import { badge, h, labelBadge } from "../core/dom.js";
import { signed } from "../core/format.js";
import { visible } from "../core/text.js";

export const labelName = (label) => (label === 1 ? "anomaly" : "normal");

/** Who gave a label: a moderator, else a key, else nobody who is named. */
export function person(moderator, keyId) {
  if (moderator) return h("bdi", {}, visible(moderator));
  if (keyId) return h("span", { class: "mono muted" }, `key ${keyId}`);
  return h("span", { class: "muted" }, "nobody named");
}

export const isTakenBack = (label) => Boolean(label.retracted) && !label.retracted.is_replacement;
export const isReplaced = (label) => Boolean(label.retracted) && label.retracted.is_replacement;

/** What became of a label, as badges and words. */
export function fate(label) {
  const parts = [];
  if (label.replaced) {
    const isOpposite = label.replaced.label !== label.label;
    parts.push(h("span", { class: "fate" }, badge(isOpposite ? "corrects" : "confirms", isOpposite ? "accent" : ""),
      " ", person(label.replaced.moderator, null)));
  }
  if (isTakenBack(label)) {
    parts.push(h("span", { class: "fate" }, badge("taken back", "warn"),
      label.retracted.reason && h("span", { class: "muted small" }, " ", h("bdi", {}, visible(label.retracted.reason)))));
  } else if (isReplaced(label)) {
    parts.push(h("span", { class: "fate" }, badge("replaced"), " ", person(label.retracted.moderator, label.retracted.key_id)));
  }
  return parts;
}

/** What was answered, and whether the label says the same. */
export function served(label) {
  if (label.served_label === null) return h("span", { class: "muted" }, "no verdict");
  return h("span", { class: "served" }, labelBadge(label.served_label), " ",
    h("span", { class: "score mono muted" }, label.served_score === null ? "" : signed(label.served_score)),
    label.served_label !== label.label && h("span", { class: "wrong", title: "The label contradicts the verdict" }, "≠"));
}
