// The reasons of a verdict as signed bars; a reason shows its places in the input, and the features behind it.

import { newId } from "../core/api.js";
import { badge, button, fill, h } from "../core/dom.js";
import { signed } from "../core/format.js";
import { visible } from "../core/text.js";

const MOST_FEATURES = 30;
const FIRST = 10; // reasons that are shown at once

/** Return the elements of a list of reasons. `light(reason)` is called with the reason that is looked at, or null. */
export function reasonList(reasons, light) {
  if (!reasons.length) {
    return [h("h2", {}, "Why"), h("p", { class: "muted" }, "No feature of the input has a weight yet, so there is no reason to show.")];
  }
  const largest = Math.max(...reasons.map((each) => Math.abs(each.contribution ?? 0))) || 1;
  const rows = reasons.map((reason) => item(reason, largest, light));
  const list = h("ol", { class: "reasons" }, rows.slice(0, FIRST));
  const more = rows.length > FIRST && button(`Show ${rows.length - FIRST} smaller ones`, () => {
    list.append(...rows.slice(FIRST));
    more.remove();
    rows[FIRST].firstChild.focus();
  }, { kind: "quiet small" });
  return [h("div", { class: "reason head" }, h("h2", {}, "Why"),
    h("span", { class: "ways small muted" }, h("span", {}, "normal"), h("span", {}, "anomaly")), h("span")), list, more];
}

function item(reason, largest, light) {
  const side = reason.contribution < 0 ? "normal" : "anomaly";
  const more = h("div", { class: "behind", id: `behind-${newId()}`, hidden: true });
  const row = h("button", { type: "button", class: "reason", "aria-expanded": "false", "aria-controls": more.id,
    onclick: () => toggle(),
    onpointerenter: () => light(reason), onpointerleave: () => light(null),
    onfocus: () => light(reason), onblur: () => light(null) },
  h("bdi", {}, visible(reason.text)), bar(reason.contribution, largest, side),
  h("span", { class: `number ${side}-text` }, signed(reason.contribution)));
  const toggle = () => {
    more.hidden = !more.hidden;
    row.setAttribute("aria-expanded", String(!more.hidden));
    if (!more.firstChild) {
      const rest = reason.features.length - MOST_FEATURES;
      fill(more, reason.features.slice(0, MOST_FEATURES).map((name) => h("code", {}, h("bdi", {}, visible(name)))),
        rest > 0 && badge(`and ${rest} more`));
    }
  };
  return h("li", {}, row, more);
}

function bar(contribution, largest, side) {
  const width = `${(48 * Math.min(Math.abs(contribution ?? 0) / largest, 1)).toFixed(1)}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, h("i", { class: side, style: { width } }));
}
