// What was sent to be scored, as a person reads it. Nothing of it is rendered, and no address in it is a link.

import { badge, button, empty, fill, h, icon } from "../core/dom.js";
import { bytes, count, decimal } from "../core/format.js";
import { cut, visible } from "../core/text.js";
import { placesIn, textNode, urlLines, urlNode } from "./texts.js";

const HEADERS = { from: "From", "reply-to": "Reply to", "return-path": "Return path", sender: "Sender" };
const MOST_FEATURES = 60;
const LONGEST_NAME = 200;

/** Return the element that shows an item's input, with its reasons marked. */
export function inputNode(item) {
  const reasons = item.now?.reasons ?? [];
  const given = item.input;
  if (!given) return featuresOnly(item);
  if (given.kind === "url") return urlNode(given.url, placesIn(reasons, "url"), reasons);
  if (given.kind === "text") return textNode(given.text, placesIn(reasons, "text"), reasons);
  return mail(given, reasons);
}

/** One line that names an item: for lists, groups and announcements. */
export function titleOf(item, most = 120) {
  const given = item.input;
  if (given?.kind === "url") return cut(given.url.slice(0, 4 * most), most);
  if (given?.kind === "text") return cut(given.text.slice(0, 4 * most).trim() || "(empty text)", most);
  if (given?.kind === "email") return cut(given.parts.subject || "(no subject)", most);
  const names = Object.keys(item.features ?? {});
  return cut(names.length ? names.slice(0, 6).join(", ") : item.prediction_id, most);
}

export function kindOf(item) {
  return { url: "URL", email: "E-mail", text: "Text" }[item.input?.kind] ?? "Features";
}

function mail(given, reasons) {
  const { parts } = given;
  const line = (name, title) => parts[name] && [h("dt", {}, title),
    h("dd", {}, textNode(parts[name], placesIn(reasons, name), reasons, { name: "span", kind: "header" }))];
  return h("div", { class: "mail" },
    h("div", { class: "subject" }, parts.subject
      ? textNode(parts.subject, placesIn(reasons, "subject"), reasons, { name: "span", kind: "header" })
      : h("span", { class: "muted" }, "(no subject)")),
    h("dl", { class: "facts" }, Object.entries(HEADERS).map(([name, title]) => line(name, title))),
    parts.body ? textNode(parts.body, placesIn(reasons, "body"), reasons, { kind: "raw body" })
      : h("p", { class: "muted" }, "The e-mail has no text."),
    parts.attachments && section("mail", "Attachments", parts.attachments.split("\n").length,
      textNode(parts.attachments, placesIn(reasons, "attachments"), reasons)),
    parts.links && section("link", "Links", parts.links.split("\n").length, urlLines(parts.links, placesIn(reasons, "links"), reasons, 12)),
    source(given.email));
}

function section(iconName, title, number, content) {
  return h("section", {}, h("h2", {}, icon(iconName), title, h("span", { class: "muted" }, count(number))), content);
}

/** The e-mail as it was sent; its text is made only when somebody opens it. */
function source(email) {
  const place = h("div");
  const raw = typeof email === "string" ? email : decoded(email.base64);
  const details = h("details", { class: "source" },
    h("summary", {}, "All headers and the source ", h("span", { class: "muted" }, bytes(raw.length))), place);
  details.addEventListener("toggle", () => {
    if (details.open && !place.firstChild) fill(place, textNode(raw, [], []));
  });
  return details;
}

function decoded(base64) {
  const binary = atob(base64);
  return new TextDecoder().decode(Uint8Array.from(binary, (each) => each.charCodeAt(0)));
}

function featuresOnly(item) {
  if (!item.features) return empty("Nothing is kept", "Neither the input nor its features are kept any more.");
  return featureTable(item);
}

/** All features with their values, in the order in which they came. */
export function featureTable(item, most = MOST_FEATURES) {
  const names = Object.keys(item.features);
  const rows = h("tbody");
  const note = h("p", { class: "muted small" });
  const show = (some) => {
    fill(rows, some.map((name) => h("tr", {},
      h("td", {}, h("bdi", { class: "mono" }, visible(cut(name, LONGEST_NAME)))),
      h("td", { class: "number" }, value(item.features[name])))));
    fill(note, some.length < names.length && [`The first ${count(some.length)} of ${count(names.length)} features. `,
      button("Show all", () => show(names), { kind: "small" })]);
  };
  show(names.slice(0, most));
  return h("div", { class: "features" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Feature"),
    h("th", { scope: "col", class: "number" }, "Value"))), rows), note);
}

function value(number) {
  return Number.isInteger(number) ? count(number) : decimal(number);
}

export function verdictBadge(label) {
  if (label === 1) return badge("Anomaly", "anomaly");
  if (label === -1) return badge("Normal", "normal");
  return badge("No verdict");
}
