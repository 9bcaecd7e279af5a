// Where a reason is in an input: places in code points become pieces of text, each with the reasons that cover it.
// A text is split first and made visible afterwards, because that changes lengths.

import { visible } from "../core/text.js";

export const MOST_SHOWN = 20_000; // characters of a text, until somebody asks for all

/** Turn places in code points into spans in UTF-16 units, as JavaScript counts. */
export function spansOf(text, places) {
  if (!/[\ud800-\udfff]/.test(text)) return places.map((each) => ({ ...each }));
  const points = [...new Set(places.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const units = new Map();
  let point = 0;
  let unit = 0;
  for (const wanted of points) {
    while (point < wanted && unit < text.length) {
      unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      point += 1;
    }
    units.set(wanted, unit);
  }
  return places.map((each) => ({ ...each, start: units.get(each.start), end: units.get(each.end) }));
}

/** Split a text at spans [{start, end, reason}]: [{start, end, reasons}], in order, without gaps. */
export function split(text, spans) {
  const edges = new Set([0, text.length]);
  const whole = spans.map((each) => ({ ...each, start: Math.max(each.start, 0), end: Math.min(each.end, text.length) }))
    .filter(({ start, end }) => start < end);
  for (const { start, end } of whole) edges.add(start).add(end);
  const ordered = [...edges].sort((a, b) => a - b);
  return ordered.slice(0, -1).map((start, place) => {
    const end = ordered[place + 1];
    const covering = whole.filter((each) => each.start <= start && end <= each.end);
    return { start, end, reasons: [...new Set(covering.map(({ reason }) => reason))] };
  });
}

/** Split a text into its lines, with the spans of each: [{start, text, spans}]. */
export function linesOf(text, spans) {
  let start = 0;
  return text.split("\n").map((line) => {
    const [from, to] = [start, start + line.length];
    start = to + 1;
    return {
      start: from,
      text: line,
      spans: spans.filter((each) => each.start < to && from < each.end)
        .map((each) => ({ ...each, start: each.start - from, end: each.end - from })),
    };
  });
}

/** Cut a text without splitting a character in two. */
export function beginning(text, most = MOST_SHOWN) {
  if (text.length <= most) return text;
  const isHigh = /[\ud800-\udbff]/.test(text[most - 1]);
  return text.slice(0, isHigh ? most - 1 : most);
}

/** Return how pieces of a URL are shown: as `defang` shows the whole. */
export function defangPieces(url) {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0].length ?? 0;
  const changed = url.slice(0, scheme).replace(/tt/i, "xx") + url.slice(scheme);
  return (start, end) => {
    const piece = changed.slice(start, end);
    const colon = scheme - 1 - start;
    if (colon < 0 || colon >= piece.length) return visible(piece).replace(/\./g, "[.]");
    return `${piece.slice(0, colon)}[:]${visible(piece.slice(colon + 1)).replace(/\./g, "[.]")}`;
  };
}

/** Return how pieces of any other text are shown. */
export const visiblePieces = (text) => (start, end) => visible(text.slice(start, end));

/** Return where the host of a URL is; null if it has none. */
export function hostOf(url) {
  const found = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/?#:]*)/i.exec(url) || /^(?:[^/?#]*@)?([^/?#:]+)/.exec(url);
  if (!found || !found[1]) return null;
  return { start: found[0].length - found[1].length, end: found[0].length };
}
