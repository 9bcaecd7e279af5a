// A tenant as a line of the table.

import { context } from "../core/api.js";
import { badge, h, svg } from "../core/dom.js";
import { count, duration, percent } from "../core/format.js";

const HEALTH = { good: ["Good", "normal"], learning: ["Learning", "accent"], poor: ["Poor", "anomaly"] };
const NO_FIGURES = "Not in memory yet. Its figures come when it is used, or when you open it.";

const page = (tenant, name) => `${context.root}/tenants/${encodeURIComponent(tenant)}/${name}`;

/** The honest figure if it is known, else the naive one. */
export function accuracyOf({ honest, recent }) {
  if (honest && honest.value !== null) return { value: honest.value, kind: "honest", low: honest.low, high: honest.high };
  return { value: recent?.balanced_accuracy ?? null, kind: "naive" };
}

function picture({ value, low, high, kind }) {
  const parts = [svg("rect", { class: "scale", x: 0, y: 4, width: 100, height: 4 })];
  if (low !== undefined) parts.push(svg("rect", { class: "band", x: 100 * low, y: 2, width: Math.max(100 * (high - low), 0.6), height: 8 }));
  parts.push(svg("rect", { class: kind === "naive" ? "point is-naive" : "point", x: Math.min(100 * value, 98.6), y: 0, width: 1.4, height: 12 }));
  return svg("svg", { class: "interval", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" }, parts);
}

function accuracyCell(each) {
  const found = accuracyOf(each);
  if (found.value === null) return h("span", { class: "muted small" }, each.labels ? "not known yet" : "no label yet");
  const words = found.kind === "honest" ? `${percent(found.low, 0)} to ${percent(found.high, 0)}` : "naive";
  return h("div", { class: "accuracy-cell" }, h("b", {}, percent(found.value)), picture(found), h("span", { class: "muted small" }, words));
}

const cell = (name, kind, ...content) => h("td", { class: kind, data: name && { name } }, content);

export function row(each) {
  const { tenant, queue } = each;
  const [word, kind] = each.damaged ? ["Damaged", "anomaly"] : HEALTH[each.health] || ["", ""];
  const begin = [cell("", "", h("a", { href: page(tenant, "overview") }, h("bdi", {}, tenant))),
    cell("", "health", word && badge(word, kind), each.rebuilding !== null && [" ", badge(`rebuilding ${percent(each.rebuilding, 0)}`, "warn")])];
  const go = cell("", "go", context.roles.has("feedback") && h("a", { class: "button small", href: page(tenant, "review"), "aria-label": `Review ${tenant}` }, "Review"),
    " ", h("a", { class: "button small", href: page(tenant, "overview"), "aria-label": `Overview of ${tenant}` }, "Overview"));
  if (!each.loaded) {
    return h("tr", { class: each.damaged ? "poor" : "" }, begin,
      h("td", { class: "muted small wide", colspan: 5 }, each.damaged ? "It cannot be loaded. Open it to read why." : NO_FIGURES), go);
  }
  const isPoor = each.health === "poor";
  return h("tr", { class: isPoor ? "poor" : "" }, begin,
    cell("", "wide", accuracyCell(each)),
    cell("Labels", "number", count(each.labels)), cell("Last day", "number", count(each.events_last_day === null ? null : Math.min(each.events_last_day, each.labels))),
    cell("Waiting", "number", queue ? [h("b", {}, count(queue.waiting)), queue.leased > 0 && h("span", { class: "muted small" }, ` +${count(queue.leased)} in review`)] : "–"),
    cell("Oldest", "number", queue && queue.oldest_age_seconds !== null ? duration(queue.oldest_age_seconds) : "–"), go);
}
