// Texts of inputs on the page: split where reasons are, made visible piece by piece, and cut if they are long.

import { button, fill, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { MOST_SHOWN, beginning, defangPieces, hostOf, linesOf, spansOf, split, visiblePieces } from "./segments.js";

/** Return the places of one part of an input: [{start, end, reason}], `reason` being the index of the reason. */
export function placesIn(reasons, part) {
  return reasons.flatMap(({ places }, reason) => places.filter((each) => each.part === part)
    .map(({ start, end }) => ({ start, end, reason })));
}

function strongest(reasons, covering) {
  const size = (reason) => Math.abs(reasons[reason].contribution ?? 0);
  return covering.reduce((best, each) => (size(each) > size(best) ? each : best));
}

function pieces(text, spans, reasons, shown) {
  return split(text, spans).map(({ start, end, reasons: all }) => {
    const covering = all.filter((each) => each !== HOST);
    const content = shown(start, end);
    const inner = all.includes(HOST) ? h("b", { class: "host" }, content) : content;
    if (!covering.length) return inner;
    const kind = (reasons[strongest(reasons, covering)].contribution ?? 0) < 0 ? "normal" : "anomaly";
    return h("mark", { class: kind, data: { reasons: ` ${covering.join(" ")} ` } }, inner);
  });
}

const HOST = -1;

/** A URL that nobody can click, with its host in bold. */
export function urlNode(url, places, reasons, { spans = spansOf(url, places), name = "div", kind = "raw url" } = {}) {
  const host = hostOf(url);
  const all = host ? [...spans, { ...host, reason: HOST }] : spans;
  const short = beginning(url);
  const node = h(name, { class: kind, dir: "ltr" });
  const show = (text) => fill(node, pieces(text, all, reasons, defangPieces(text)), more(url, text, () => show(url)));
  show(short);
  return node;
}

/** URLs, one on each line. */
export function urlLines(text, places, reasons, most = 50) {
  const lines = linesOf(text, spansOf(text, places));
  const list = h("ul", { class: "links" });
  const show = (some) => fill(list,
    some.map((line) => h("li", {}, urlNode(line.text, [], reasons, { spans: line.spans, name: "span", kind: "raw" }))),
    some.length < lines.length && h("li", {}, button(`Show all ${count(lines.length)}`, () => show(lines), { kind: "small" })));
  show(lines.slice(0, most));
  return list;
}

/** A text as it is, on as many lines as it has. */
export function textNode(text, places, reasons, { kind = "raw", name = "pre" } = {}) {
  const [shown, spans] = withoutBlankLines(text, spansOf(text, places));
  const node = h(name, { class: kind, dir: "auto" });
  const show = (part) => fill(node, pieces(part, spans, reasons, visiblePieces(part)), more(shown, part, () => show(shown), spans));
  show(beginning(shown));
  return node;
}

/** Leave out blank lines at the beginning. */
function withoutBlankLines(text, spans) {
  const lead = /^(?:[^\S\n]*\n)*/.exec(text)[0].length;
  return lead ? [text.slice(lead), spans.map((each) => ({ ...each, start: each.start - lead, end: each.end - lead }))] : [text, spans];
}

function more(whole, shown, showAll, spans = []) {
  if (shown.length === whole.length) return null;
  const hidden = spans.filter((each) => each.end > shown.length).length;
  return h("span", { class: "more" }, `… ${count(MOST_SHOWN)} of ${count(whole.length)} characters${hidden ? `; ${hidden} marked ${hidden === 1 ? "place" : "places"} further down` : ""} `,
    button("Show all", showAll, { kind: "small" }));
}
