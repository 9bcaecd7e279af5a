// The table of labels: one row each, with a box to select it and a button that opens it.

import { context } from "../core/api.js";
import { h, labelBadge } from "../core/dom.js";
import { excerptText } from "../core/input.js";
import { time } from "../core/format.js";
import { cut, visible } from "../core/text.js";
import { fate, labelName, person, served } from "./words.js";

/** Whether the signed-in key may take a label back, by its id. */
export function mayTakeBack(label) {
  const isOwn = !context.key || context.roles.has("admin") || label.key_id === context.key;
  return context.roles.has("feedback") && isOwn && Boolean(label.feedback_id) && !(label.retracted && !label.retracted.is_replacement);
}

export function row(label, { onOpen, onSelect }) {
  const canSelect = mayTakeBack(label);
  const name = `${labelName(label.label)}, ${time(label.at)}`;
  const box = context.roles.has("feedback") && h("td", { class: "select" }, canSelect && h("input", {
    type: "checkbox", "aria-label": `Select ${name}`, onclick: (event) => event.stopPropagation(),
    onchange: (event) => onSelect(label, event.target.checked) }));
  const open = h("button", { type: "button", class: "open", onclick: (event) => { event.stopPropagation(); onOpen(label); } },
    what(label));
  return h("tr", { class: `link ${label.retracted ? "gone" : ""}`.trim(), data: { version: label.version },
    onclick: () => onOpen(label) },
  box,
  h("td", { class: "when" }, time(label.at)),
  h("td", {}, labelBadge(label.label)),
  h("td", { class: "what" }, open),
  h("td", { class: "verdict-cell" }, served(label)),
  h("td", { class: "by" }, person(label.moderator, label.key_id)),
  h("td", { class: "fate-cell" }, fate(label)));
}

function what(label) {
  if (label.excerpt) return h("bdi", { class: "mono" }, cut(excerptText(label.excerpt), 160));
  if (label.excerpt === "") return h("span", { class: "muted" }, "empty subject");
  if (label.prediction_id) return h("span", { class: "mono muted" }, label.prediction_id);
  return h("bdi", { class: "mono muted" }, label.feedback_id ? visible(label.feedback_id) : `version ${label.version}`);
}
