// What was sent to be scored, as text with the places of its reasons. It is never a link, and no HTML is rendered.

import { button, h } from "./dom.js";
import { count } from "./format.js";
import { defang, visible } from "./text.js";

const SHOWN = 3000; // characters of a part, before "show all"
const FEATURES = 60;
const NAMES = {
  from: "From", "reply-to": "Reply to", "return-path": "Return path", sender: "Sender", subject: "Subject",
  body: "Body", links: "Links", attachments: "Attachments",
};
const HEADERS = ["from", "reply-to", "return-path", "sender", "subject"];

/** Show an input ({kind, url | text | email + parts}) or, without it, features by name. */
export function inputView(input, reasons = [], features = null) {
  if (!input) return featureView(features);
  const places = placesOf(reasons);
  if (input.kind === "url") return textView(input.url, places.url, defanged, "raw url");
  if (input.kind === "text") return textView(input.text, places.text, plain);
  const parts = input.parts || {};
  const headers = HEADERS.filter((name) => parts[name]);
  return h("div", { class: "mail" },
    headers.length > 0 && h("dl", { class: "facts" }, headers.map((name) => [
      h("dt", {}, NAMES[name]), h("dd", {}, textView(parts[name], places[name], plain)),
    ])),
    ["body", "links", "attachments"].filter((name) => parts[name]).map((name) => h("div", { class: "mail-part" },
      name === "body" ? null : h("h3", {}, NAMES[name]),
      textView(parts[name], places[name], name === "links" ? defanged : plain))),
    Object.keys(parts).length === 0 && h("p", { class: "muted" }, "Nothing of this mail can be shown as text."));
}

/** One line for a list: the beginning of an input. */
export function excerptText(excerpt) {
  const line = excerpt.replace(/\s+/g, " ");
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(line) ? defang(line) : visible(line);
}

function placesOf(reasons) {
  const found = {};
  for (const reason of reasons) {
    for (const place of reason.places || []) {
      (found[place.part] ||= []).push({ ...place, reason });
    }
  }
  return found;
}

// Each character as it is shown; the places count characters, so they are found before anything is replaced.
function plain(characters) {
  return defangSchemes(characters, characters.map(visible));
}

function defanged(characters) {
  return defangSchemes(characters, characters.map((each) => (each === "." ? "[.]" : visible(each))));
}

function defangSchemes(characters, shown) {
  const flat = characters.map((each) => (each.length === 1 ? each : "?")).join(""); // one unit for each character
  for (const found of flat.matchAll(/[a-z][a-z0-9+.-]{0,30}:(?=\/\/)/gi)) {
    const letters = found[0].toLowerCase().indexOf("tt");
    if (letters >= 0) shown.splice(found.index + letters, 2, "x", "x");
    shown[found.index + found[0].length - 1] = "[:]";
  }
  return shown;
}

function textView(text, places = [], show, kind = "raw") {
  const all = Array.from(text.trimEnd());
  const box = h("pre", { class: kind, dir: "auto", tabindex: all.length > 400 ? "0" : null });
  const draw = (most) => {
    const characters = all.slice(0, most);
    box.replaceChildren(...pieces(show(characters), places));
  };
  draw(SHOWN);
  if (all.length <= SHOWN) return box;
  const more = button(`Show all ${count(all.length)} characters`, () => { draw(all.length); more.remove(); }, { kind: "small" });
  return h("div", { class: "long" }, box, more);
}

function pieces(shown, places) {
  const marks = new Array(shown.length);
  // Smaller reasons first, so that the one that decided most is seen where they overlap.
  for (const place of [...places].sort((a, b) => Math.abs(a.reason.contribution) - Math.abs(b.reason.contribution))) {
    for (let k = place.start; k < Math.min(place.end, shown.length); k += 1) marks[k] = place.reason;
  }
  const found = [];
  for (let start = 0; start < shown.length;) {
    let end = start + 1;
    while (end < shown.length && marks[end] === marks[start]) end += 1;
    const text = shown.slice(start, end).join("");
    found.push(marks[start] ? mark(text, marks[start]) : text);
    start = end;
  }
  return found;
}

function mark(text, reason) {
  return h("mark", { class: reason.contribution < 0 ? "normal" : "anomaly", title: visible(reason.text) }, text);
}

function featureView(features) {
  const all = Object.entries(features || {});
  if (all.length === 0) return h("p", { class: "muted" }, "The input is not kept any more.");
  const list = h("ul", { class: "features" });
  const draw = (most) => list.replaceChildren(...all.slice(0, most).map(([name, value]) => h("li", {},
    h("bdi", { class: "mono" }, visible(name)), value === 1 ? null : h("span", { class: "muted number" }, ` ${value}`))));
  draw(FEATURES);
  const more = all.length > FEATURES
    && button(`Show all ${count(all.length)} features`, () => { draw(all.length); more.remove(); }, { kind: "small" });
  return h("div", {}, list, more);
}
