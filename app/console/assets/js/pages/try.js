// Try it: the verdict on an input and its reasons. The service keeps nothing of it.

import { byId, fill, h } from "../core/dom.js";
import { real } from "../core/format.js";
import { trial } from "../try/trial.js";

const place = byId("content");
const compare = byId("compare");
const difference = h("p", { class: "card difference", role: "status", hidden: true });
const answers = [null, null];

function showDifference() {
  const [first, second] = answers;
  difference.hidden = !first || !second;
  if (difference.hidden) return;
  const word = (answer) => (answer.label === 1 ? "an anomaly" : "normal");
  const apart = Math.abs(first.score - second.score);
  fill(difference, `The first input is ${word(first)} (${real(first.score)}), the second ${word(second)} `
    + `(${real(second.score)}): ${real(apart)} apart.`);
}

const note = (index) => (answer) => { answers[index] = answer; showDifference(); };
const trials = [trial("Input", { onResult: note(0) })];

function show() {
  place.className = trials.length > 1 ? "trials two" : "trials";
  compare.hidden = trials.length > 1;
  fill(place, difference, trials.map((each) => each.element));
}

compare.addEventListener("click", () => {
  trials.push(trial("Second input", {
    onResult: note(1),
    onClose: () => { trials.pop(); answers[1] = null; showDifference(); show(); trials[0].focus(); },
  }));
  show();
  trials[1].focus();
});

show();
trials[0].focus();
