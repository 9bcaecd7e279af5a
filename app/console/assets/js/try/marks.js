// An input as text in which the places of reasons are marked. Places count code points of what was sent.

import { button, fill, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { visible } from "../core/text.js";

const LONGEST = 4_000_000;
const FIRST = 1_200; // code points that are shown at once,
const MORE = 50_000; // and by each "Show more"

/** Return an element with a part of an input. `places` are {start, end, reason, side, isWeak}. */
export function marked(text, places, { isUrl = false } = {}) {
  const points = Array.from(text.length > LONGEST ? text.slice(0, LONGEST) : text);
  const frame = h("div", { class: "marked" });
  const body = h("p", { class: "raw", dir: "auto" });
  let most = FIRST;
  const draw = () => {
    const shown = defanged(points.slice(0, most), isUrl);
    fill(body, [...pieces(shown, places)]);
    const rest = points.length - most;
    fill(frame, body, rest > 0 && button(`Show ${count(Math.min(rest, MORE))} more of ${count(points.length)} characters`,
      () => { most += MORE; draw(); }, { kind: "small" }));
  };
  draw();
  return frame;
}

/** Cut a text at the ends of places: between two of them, all characters have the same reasons. */
function* pieces(points, places) {
  const most = points.length;
  const inside = places.filter((each) => each.start < most && each.end > each.start);
  const ends = new Set([0, most]);
  for (const each of inside) ends.add(each.start).add(Math.min(each.end, most));
  const sorted = [...ends].sort((a, b) => a - b);
  for (let k = 0; k + 1 < sorted.length; k += 1) {
    const [start, end] = [sorted[k], sorted[k + 1]];
    const text = visible(points.slice(start, end).join(""));
    const covering = inside.filter((each) => each.start <= start && each.end >= end);
    if (!covering.length) {
      yield text;
      continue;
    }
    const strongest = covering.reduce((best, each) => (each.reason < best.reason ? each : best));
    yield h("mark", { class: `${strongest.side} ${strongest.isWeak ? "weak" : ""}`.trim(),
      data: { reasons: covering.map((each) => each.reason).join(" ") } }, text);
  }
}

/** Change addresses so that nobody can click or copy them by mistake. Each code point keeps its place. */
function defanged(points, isUrl) {
  const shown = [...points];
  const at = (index) => (points[index] ?? "").toLowerCase();
  points.forEach((each, index) => {
    if (isUrl && each === ".") shown[index] = "[.]";
    if (each === ":" && at(index + 1) === "/" && at(index + 2) === "/") {
      shown[index] = "[:]";
      const start = index - (at(index - 1) === "s" ? 5 : 4);
      if (points.slice(Math.max(start, 0), start + 4).join("").toLowerCase() === "http") shown[start + 1] = shown[start + 2] = "x";
    }
  });
  return shown;
}
