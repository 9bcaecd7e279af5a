// The answer of one trial: the verdict, the score on a scale, the input with its reasons.

import { badge, h } from "../core/dom.js";
import { count, percent, real, signed } from "../core/format.js";
import { visible } from "../core/text.js";
import { marked } from "./marks.js";
import { reasonList } from "./reasons.js";
import { scale } from "./scale.js";

const PARTS = { from: "From", "reply-to": "Reply to", "return-path": "Return path", sender: "Sender", subject: "Subject",
  body: "Text", links: "Links", attachments: "Attachments" };
const WEAK = 0.2; // of the largest contribution

export function resultOf(answer) {
  const places = placesByPart(answer.reasons);
  const shown = h("div", { class: "stack" });
  const light = (index) => {
    for (const mark of shown.querySelectorAll("mark")) {
      mark.classList.toggle("active", index !== null && mark.dataset.reasons.split(" ").includes(String(index)));
    }
  };
  const why = h("div", { class: "card" }, reasonList(answer.reasons, light));
  const where = answer.input && h("div", { class: "card" }, h("h2", {}, "Where"), inputOf(answer.input, places));
  const cards = (answer.input?.kind === "email" ? [why, where] : [where, why]).filter(Boolean);
  shown.append(
    h("div", { class: "card verdict-card" }, verdict(answer), scale(answer.score, answer.threshold),
      answer.has_no_opinion && h("p", { class: "notice" }, "The model has no opinion about this input yet: it has not learnt from "
        + "anything like it, or its verdicts are no better than chance."),
      answer.cut.map((each) => h("p", { class: "notice" }, `Not read: ${each}.`))),
    ...cards,
    h("details", { class: "card small-details" }, h("summary", {}, `The features that count most, of ${count(answer.features)}`),
      features(answer)),
  );
  return shown;
}

function verdict({ label, score, threshold, probability }) {
  const side = label === 1 ? "anomaly" : "normal";
  const words = label === 1 ? "Anomaly" : "Normal";
  return h("div", { class: "verdict" },
    h("span", { class: `verdict-word ${side}-text` }, words),
    h("dl", {},
      fact("Score", real(score)),
      fact("From the threshold", score === null ? "–" : signed(score - threshold, 3)),
      fact("Probability of an anomaly", probability === null ? "not known yet" : percent(probability))));
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

function placesByPart(reasons) {
  const found = new Map();
  const largest = Math.max(0, ...reasons.map((each) => Math.abs(each.contribution ?? 0)));
  reasons.forEach((reason, index) => {
    for (const place of reason.places) {
      if (!found.has(place.part)) found.set(place.part, []);
      found.get(place.part).push({ ...place, reason: index, side: reason.contribution < 0 ? "normal" : "anomaly",
        isWeak: Math.abs(reason.contribution ?? 0) < WEAK * largest });
    }
  });
  return found;
}

function inputOf(input, places) {
  if (input.kind !== "email") {
    return marked(input[input.kind], places.get(input.kind) ?? [], { isUrl: input.kind === "url" });
  }
  const parts = Object.entries(input.parts);
  if (!parts.length) return h("p", { class: "muted" }, "The e-mail has no part that a reader sees.");
  return h("dl", { class: "parts" }, parts.map(([name, text]) => [h("dt", {}, PARTS[name] ?? name),
    h("dd", {}, marked(text, places.get(name) ?? [], { isUrl: name === "links" }))]));
}

function features({ explanation, version, algorithm }) {
  return h("div", {},
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Feature"), h("th", { scope: "col", class: "number" }, "Contribution"))),
      h("tbody", {}, explanation.map((each) => h("tr", {},
        h("td", {}, h("code", {}, h("bdi", {}, visible(each.feature)))),
        h("td", { class: `number ${each.contribution < 0 ? "normal" : "anomaly"}-text` }, signed(each.contribution, 3)))))),
    h("p", { class: "small muted" }, `By ${algorithm}, after ${count(version)} events. `, badge("nothing was kept")));
}
