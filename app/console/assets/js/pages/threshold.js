// Threshold: what other thresholds would do, and setting one.

import { context, get, tenantPath } from "../core/api.js";
import { badge, button, byId, empty, fail, fill, h } from "../core/dom.js";
import { count, decimal, percent, real } from "../core/format.js";
import { changes } from "../threshold/changes.js";
import { countsOf } from "../threshold/counts.js";
import { RATES, pointAt, thresholdFor } from "../threshold/curve.js";
import { COLOURS, plotOf } from "../threshold/plot.js";
import { MEANINGS, NAMES, TARGETS, items, rate, rateBand, sentence, source } from "../threshold/words.js";

const POINTS = 161;
const FEW = 30; // labels of a class
const STEPS = 1000;
const place = byId("content");
let plot = null;

async function load() {
  try {
    const [tenant, curve] = await Promise.all([get(tenantPath()), get(tenantPath("/curve"), { points: POINTS })]);
    show(tenant, curve);
  } catch (error) {
    if (error.status === 404) fill(place, empty("No such tenant", error.message));
    else { fill(place, empty("The curve cannot be shown", error.message, button("Try again", load))); fail(error); }
  }
}

function show(tenant, curve) {
  plot?.destroy();
  plot = null;
  const isAdmin = context.roles.has("admin");
  const listeners = [];
  const page = {
    tenant, now: tenant.threshold, mark: () => tenant.threshold, reload: load,
    onMark: (listener) => listeners.push(listener),
    setMark: (threshold, by) => listeners.forEach((each) => each(threshold, by)),
    describe: () => "", preview: () => "",
  };
  const drawn = curve.points ? drawing(curve, page) : null;
  fill(place, inForce(tenant, curve), notice(curve), drawn ?? empty("There is no curve yet", `${sentenceCase(curve.reason)}. Label some items in Review, then come back.`),
    isAdmin && h("section", { class: "changes", "aria-label": "Change the threshold" }, changes(page)));
  drawn?.start();
}

const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function inForce(tenant, curve) {
  const { target } = tenant;
  return h("section", { class: "card in-force", "aria-label": "In force" },
    h("div", { class: "stat" }, h("div", { class: "label" }, "Threshold now"), h("div", { class: "value" }, real(tenant.threshold))),
    h("div", { class: "how" }, h("p", {}, source(tenant)), target && h("p", { class: "muted" }, realised(target)),
      h("p", { class: "muted" }, `Scores above it are anomalies. ${count(curve.anomalies)} labelled anomalies and `
        + `${count(curve.normal)} normal items stand behind the curve.`)),
    curve.points && badge(curve.weighted ? "weighted: all items" : "labels as they came", curve.weighted ? "accent" : "warn"),
    button("Refresh", load, { kind: "quiet small", iconName: "refresh" }));
}

function realised({ name, followed, reason, realised: found }) {
  if (!followed) return `It is not followed yet: ${reason}. Until then the threshold is learnt for its objective.`;
  if (found.value === null) return `What it realised is not known: ${found.reason}.`;
  const { isShare } = TARGETS[name];
  const text = isShare ? (value) => percent(value, 2) : items;
  return `Realised lately: ${text(found.value)} (95% interval ${text(found.low)} to ${text(found.high)}).`;
}

function notice(curve) {
  if (!curve.points) return null;
  const few = [["anomalies", curve.anomalies], ["normal items", curve.normal]].filter(([, number]) => number < FEW);
  return [
    few.length > 0 && h("p", { class: "notice" }, `There are only ${few.map(([what, number]) => `${count(number)} labelled ${what}`).join(" and ")}. `
      + `With fewer than ${FEW} of each, take the curve as a hint.`),
    !curve.weighted && h("p", { class: "notice" }, "The labels are counted as they came, because no item that the review policy chose has a "
      + "label yet. People label mostly what was flagged, so the curve may not be that of all items."),
  ];
}

function drawing(curve, page) {
  const [low, high] = [curve.points[0].threshold, curve.points.at(-1).threshold];
  const now = curve.threshold;
  const counts = countsOf(curve);
  const figure = h("div", { class: "chart", role: "img", "aria-label": "Sensitivity, specificity, precision and flagged share for each "
    + `threshold from ${real(low)} to ${real(high)}, with 95% bands. The slider below reads them.` });
  const range = h("input", { type: "range", id: "mark", min: 0, max: STEPS, step: 1, "aria-label": "Threshold to look at" });
  const words = h("p", { class: "in-words" });
  const values = Object.fromEntries(RATES.map((each) => [each, [h("strong"), h("span", { class: "band" })]]));
  const legend = h("ul", { class: "legend" }, RATES.map((each) => h("li", {},
    h("button", { type: "button", class: `swatch ${COLOURS[each]} ${each}`, "aria-pressed": "true", title: `Show or hide: ${MEANINGS[each]}`,
      onclick: (event) => event.currentTarget.setAttribute("aria-pressed", String(plot.toggle(each))) }, NAMES[each]),
    values[each])));
  const at = (threshold) => (threshold === now ? curve.now : pointAt(curve.points, threshold));

  let mark = now;
  page.mark = () => mark;
  page.describe = (threshold) => sentence(counts.at(at(threshold)), counts.of);
  page.preview = (name, value, moves) => {
    if (!Number.isFinite(value) || value <= 0) return "Enter a number above 0.";
    if (name === "reviews_per_day") return "";
    const found = thresholdFor(curve.points, name, value);
    if (found === null) return "No threshold on the curve meets this.";
    if (moves) page.setMark(found);
    return `By the curve of now, about ${real(found)}: ${sentence(counts.at(at(found)), counts.of).replace(/^Of/, "of")}`;
  };
  page.onMark((threshold, by) => {
    mark = threshold;
    const point = at(threshold);
    const text = sentence(counts.at(point), counts.of);
    if (by !== range) range.value = String(Math.round((STEPS * (threshold - low)) / (high - low)));
    range.setAttribute("aria-valuetext", `${decimal(threshold)}. ${text}`);
    fill(words, h("strong", {}, `At ${real(threshold)}`), threshold === now && " (now)", ": ", text.replace(/^Of/, "of"));
    for (const each of RATES) {
      values[each][0].textContent = rate(point[each]);
      values[each][1].textContent = rateBand(point[each]);
    }
    counts.show(point);
    plot?.setMark(threshold);
  });
  range.addEventListener("input", () => page.setMark(low + (Number(range.value) / STEPS) * (high - low), range));
  range.addEventListener("dblclick", () => page.setMark(now));

  const element = h("div", { class: "curve" },
    h("section", { class: "card", "aria-label": "Curve" }, legend, figure, h("div", { class: "slider" }, range),
      h("p", { class: "muted small hint" }, "Drag the mark, or use the slider and the arrow keys. The dashed line is the threshold of now."), words),
    counts.element);
  element.start = () => {
    plot = plotOf(figure, curve.points, now, (threshold) => page.setMark(Math.round(1000 * threshold) / 1000), (left, width) => {
      range.style.marginLeft = `${left - 8}px`;
      range.style.width = `${width + 16}px`;
    });
    page.setMark(now);
  };
  return element;
}

load();
