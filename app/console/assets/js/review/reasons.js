// Reasons as signed bars. The one that has the pointer or the focus is outlined in the input.

import { button, fill, h } from "../core/dom.js";
import { signed } from "../core/format.js";
import { cut, visible } from "../core/text.js";

const SHOWN = 7;

/** Return the bars of an item's reasons; `input` is the element that shows the input. */
export function reasonBars(item, input) {
  const reasons = item.now?.reasons ?? [];
  if (!reasons.length) return h("p", { class: "muted" }, "Nothing that the model knows is in this item.");
  const largest = Math.max(...reasons.map((each) => Math.abs(each.contribution ?? 0)), 1e-12);
  const list = h("ul", { class: "reasons" }, reasons.map((each, place) => bar(each, place, largest, input)));
  if (reasons.length <= SHOWN + 1) return list;
  const rest = [...list.children].slice(SHOWN);
  for (const each of rest) each.hidden = true;
  const all = h("li", {}, button(`${rest.length} smaller reasons`, () => {
    all.remove();
    for (const each of rest) each.hidden = false;
    rest[0].querySelector("button").focus();
  }, { kind: "quiet small" }));
  list.append(all);
  return list;
}

function bar(reason, place, largest, input) {
  const contribution = reason.contribution ?? 0;
  const kind = contribution < 0 ? "normal" : "anomaly";
  const names = h("ul", { class: "names", hidden: true });
  const mark = (isActive) => {
    for (const each of input.querySelectorAll("mark")) {
      if (each.dataset.reasons.includes(` ${place} `)) each.classList.toggle("active", isActive);
    }
  };
  const row = h("button", {
    type: "button", class: "reason", "aria-expanded": "false",
    onmouseenter: () => mark(true), onmouseleave: () => mark(false), onfocus: () => mark(true), onblur: () => mark(false),
    onclick: () => {
      names.hidden = !names.hidden;
      row.setAttribute("aria-expanded", String(!names.hidden));
      if (names.hidden) return;
      fill(names, reason.features.map((each) => h("li", {}, h("bdi", { class: "mono" }, visible(cut(each, 200))))));
      input.querySelector(`mark[data-reasons~="${place}"]`)?.scrollIntoView({ block: "nearest" });
    },
  },
  h("span", { class: "text" }, h("bdi", {}, visible(cut(reason.text, 160)))),
  h("span", { class: "bar", "aria-hidden": "true" }, h("i", { class: kind, style: { width: `${48 * Math.abs(contribution) / largest}%` } })),
  h("span", { class: `number ${kind}-text` }, signed(reason.contribution, largest < 0.1 ? 3 : 2)));
  return h("li", {}, row, names);
}
