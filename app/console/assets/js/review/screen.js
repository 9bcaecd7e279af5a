// The item on screen. What comes next is built before it is needed, so that a key press only has to show it.

import { context } from "../core/api.js";
import { badge, byId, empty, fill, h } from "../core/dom.js";
import { count, signed } from "../core/format.js";
import { defang, visible } from "../core/text.js";
import { inputNode, kindOf, titleOf } from "./item.js";
import { reasonBars } from "./reasons.js";
import { similarPanel } from "./similar.js";
import { verdictNode } from "./verdict.js";
import { KINDS } from "./words.js";

const LATEST = 5;

export class Screen {
  threshold = null;
  #similar = context.roles.has("review") ? similarPanel(byId("similar")) : () => {};

  /** Build what an entry shows, unless that was done. */
  prepare(entry) {
    if (entry.view || !entry.item) return;
    const input = inputNode(entry.item);
    entry.view = { input, verdict: verdictNode(entry.item, this.threshold), reasons: reasonBars(entry.item, input) };
  }

  /** Show an entry of the trail. */
  show(entry) {
    this.#setVisible(true);
    this.prepare(entry);
    const { item, view } = entry;
    const decided = entry.decisions.at(-1);
    fill(byId("item"), h("header", {}, h("span", { class: "kind muted" }, item ? kindOf(item) : "Item"),
      decided && badge(`you said ${KINDS[decided.kind].said}`, KINDS[decided.kind].label ? decided.kind : "accent")),
    view ? view.input : h("p", { class: "muted" }, entry.problem ?? "Loading …"));
    if (byId("item").dataset.id !== entry.id) scrollTo({ top: 0 });
    byId("item").dataset.id = entry.id;
    fill(byId("verdict"), view?.verdict);
    fill(byId("reasons"), view?.reasons);
    this.#similar(item ? entry.id : null);
  }

  /** Say that nothing waits; `more` are lines below. */
  showNothing(title, text, ...more) {
    this.#setVisible(false);
    delete byId("item").dataset.id;
    this.#similar(null);
    fill(byId("nothing"), empty(title, text, ...more));
  }

  /** Show the last decisions, and what they did. */
  showLatest(latest) {
    fill(byId("latest"), latest.length ? latest.slice(0, LATEST).map(([entry, decision]) => this.#line(entry, decision))
      : h("li", { class: "muted small" }, "Nothing is decided yet."));
  }

  #line(entry, decision) {
    const { kind, title, problem, result, state } = decision;
    const effect = problem ? h("span", { class: "anomaly-text" }, problem)
      : result ? effectOf(result) : h("span", { class: "muted" }, state === "stored" ? STORED[kind] ?? "stored" : "being sent …");
    return h("li", {}, badge(KINDS[kind].said, KINDS[kind].label ? kind : "accent"),
      h("span", { class: "what" }, h("bdi", { class: "mono" }, title || entry.id)), h("span", { class: "effect" }, effect));
  }

  #setVisible(isVisible) {
    byId("review").classList.remove("loading");
    byId("review").hidden = !isVisible;
    byId("nothing").hidden = isVisible;
    byId("decide").classList.toggle("idle", !isVisible);
  }
}

const STORED = { unsure: "passed on", skip: "passed on" };

/** The title of an item, safe to show. */
export function safeTitle(item) {
  const title = titleOf(item, 80);
  return item.input?.kind === "url" ? defang(title) : visible(title);
}

function effectOf(result) {
  if (result.duplicate) return h("span", { class: "muted" }, "was labelled so before");
  const agreed = result.predicted === null ? "" : result.predicted === result.label ? " · the model agreed" : " · the model learnt";
  return h("span", { class: "muted" }, result.score === null ? "" : `was ${signed(result.score)}`,
    result.replaced ? " · replaced an earlier label" : agreed, ` · version ${count(result.version)}`);
}
