// What was sent to the service, as text that cannot mislead a reader.

const NAMES = {
  0x200b: "ZWSP", 0x200c: "ZWNJ", 0x200d: "ZWJ", 0x200e: "LRM", 0x200f: "RLM", 0x202a: "LRE", 0x202b: "RLE",
  0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI",
  0x2069: "PDI", 0x061c: "ALM", 0xfeff: "BOM", 0x2028: "LS", 0x2029: "PS", 0x00ad: "SHY",
};
// Control characters, and characters that are not seen but change the order or the look of others.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Return a text in which hidden characters are seen. Its length may differ: use `pieces` to highlight places. */
export function visible(text) {
  return String(text).replace(HIDDEN, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return `⟦${NAMES[code] || `U+${code.toString(16).toUpperCase().padStart(4, "0")}`}⟧`;
  });
}

/** Return a URL that nobody can click by mistake. */
export function defang(url) {
  return visible(url).replace(/^([a-z][a-z0-9+.-]*):/i, (_, scheme) => `${scheme.replace(/tt/i, "xx")}[:]`)
    .replace(/\./g, "[.]");
}

/** Cut a text for a line, with an ellipsis. */
export function cut(text, most) {
  const characters = Array.from(String(text));
  return characters.length <= most ? String(text) : `${characters.slice(0, most - 1).join("")}…`;
}
