// The answer of one trial: the verdict, the score on a scale, the input with its reasons.

import { badge, h } from "../core/dom.js";
import { count, percent, real, signed } from "../core/format.js";
import { inputView } from "../core/input.js";
import { visible } from "../core/text.js";
import { reasonList } from "./reasons.js";
import { scale } from "./scale.js";

export function resultOf(answer) {
  const shown = h("div", { class: "stack" });
  const light = (reason) => {
    const title = reason && visible(reason.text);
    for (const mark of shown.querySelectorAll("mark")) mark.classList.toggle("active", mark.title === title);
  };
  const why = h("div", { class: "card" }, reasonList(answer.reasons, light));
  const where = answer.input && h("div", { class: "card" }, h("h2", {}, "Where"), inputView(answer.input, answer.reasons));
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

function features({ explanation, version, algorithm }) {
  return h("div", {},
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Feature"), h("th", { scope: "col", class: "number" }, "Contribution"))),
      h("tbody", {}, explanation.map((each) => h("tr", {},
        h("td", {}, h("code", {}, h("bdi", {}, visible(each.feature)))),
        h("td", { class: `number ${each.contribution < 0 ? "normal" : "anomaly"}-text` }, signed(each.contribution, 3)))))),
    h("p", { class: "small muted" }, `By ${algorithm}, after ${count(version)} events. `, badge("nothing was kept")));
}
