// What a person types or drops, as the body of a request.

export const KINDS = [
  ["url", "URL"],
  ["email", "E-mail"],
  ["text", "Text"],
  ["features", "Features"],
];

/** Guess the kind of what was pasted. */
export function guessKind(text) {
  const trimmed = text.trim();
  if (/^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(trimmed)) return "url";
  if (/^\{[^]*\}$/.test(trimmed)) return "features";
  if (/^(?:from|to|subject|received|return-path|delivered-to|date|message-id|mime-version)[ \t]*:/im.test(trimmed.slice(0, 2000))
    && /^[!-9;-~]+:/.test(trimmed)) return "email";
  return "text";
}

/** Return the body of a request; throws an Error with a sentence if the text cannot be read. */
export function bodyOf(kind, text, bytes) {
  if (kind === "email" && bytes) return { email: { base64: base64(bytes) } };
  if (kind === "url") return { url: text.trim() };
  if (kind === "features") return { features: featuresOf(text) };
  return { [kind]: text };
}

/** Read features: a JSON object, or a name and a value on each line. */
export function featuresOf(text) {
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) {
    try {
      return JSON.parse(trimmed);
    } catch (error) {
      throw new Error(`This is not valid JSON: ${error.message}.`);
    }
  }
  const features = {};
  trimmed.split("\n").forEach((line, index) => {
    if (!line.trim()) return;
    const found = /^\s*(.*?)(?:\s*[=\t]\s*|\s+)(\S+)\s*$/.exec(line);
    const [name, value] = found && found[1] ? [found[1], found[2]] : [line.trim(), "true"];
    if (name in features) throw new Error(`Line ${index + 1} names ${name} again.`);
    features[name] = valueOf(value);
  });
  return features;
}

function valueOf(text) {
  if (text === "true") return true;
  if (text === "false") return false;
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

function base64(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  return btoa(parts.join(""));
}
