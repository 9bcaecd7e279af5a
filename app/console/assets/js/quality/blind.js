// Blind second reviews: one item at a time, without the first label, who gave it, and the verdict. A and N answer.

import { context, get, persistently, post, tenantPath } from "../core/api.js";
import { button, byId, fail, fill, h, icon } from "../core/dom.js";
import { inputView } from "../core/input.js";
import { count } from "../core/format.js";
import { asModerator, moderator } from "../core/who.js";

const KEYS = { a: 1, n: -1, s: 0 };

/** The card of second reviews. `done()` is called after each opinion. */
export class BlindReviews {
  constructor(place, { done }) {
    this.place = place;
    this.done = done;
    this.item = null;
    this.isBusy = false;
    document.addEventListener("moderator", () => { this.item = null; this.count(); });
    document.addEventListener("keydown", (event) => {
      const isTyping = event.target.closest("input, textarea, select, dialog");
      const label = KEYS[event.key.toLowerCase()];
      if (label === undefined || isTyping || !this.item || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      event.preventDefault();
      this.answer(label);
    });
  }

  /** Say how many wait. */
  async count() {
    if (!context.key && !moderator()) {
      this.show(h("p", { class: "muted" }, "Say who you are: nobody is asked for a second opinion on an own label."),
        button("Say who you are", () => byId("who-button").click(), { iconName: "person" }));
      return;
    }
    try {
      const { waiting } = await this.ask(0);
      if (waiting === 0) this.showNothing();
      else this.show(h("p", {}, h("strong", {}, count(waiting)), waiting === 1 ? " item waits" : " items wait", " for your second opinion."),
        button("Begin", () => this.next(), { kind: "primary" }));
    } catch (error) {
      this.show(h("p", { class: "problem" }, error.message));
    }
  }

  ask(limit) {
    return get(tenantPath("/second-reviews"), { limit, ...asModerator() });
  }

  async next() {
    try {
      const { waiting, items } = await this.ask(1);
      [this.item] = items;
      if (this.item) this.showItem(waiting);
      else this.showNothing();
    } catch (error) {
      this.item = null;
      fail(error);
    }
  }

  async answer(label) {
    if (this.isBusy) return;
    this.isBusy = true;
    const { prediction_id: id } = this.item;
    const body = { ...(label === 0 ? { action: "skip" } : { action: "opinion", label }), ...asModerator() };
    try {
      await persistently(() => post(tenantPath(`/second-reviews/${encodeURIComponent(id)}`), body));
      if (label !== 0) this.done();
    } catch (error) {
      fail(error); // a lost lease: the next item is shown
    }
    await this.next();
    this.isBusy = false;
  }

  showItem(waiting) {
    const choice = (text, key, label, kind) => button(text, () => this.answer(label), { kind, "aria-keyshortcuts": key });
    const withKey = (element, key) => { element.append(h("kbd", {}, key)); return element; };
    this.show(
      h("p", { class: "muted small", role: "status" }, `${count(waiting)} to do. You see neither the first label nor the verdict. Your answer is not learnt.`),
      h("div", { class: "blind-item" }, inputView(this.item.input, [], this.item.features)),
      h("div", { class: "row center" }, withKey(choice("Anomaly", "A", 1, "anomaly"), "A"), withKey(choice("Normal", "N", -1, "normal"), "N"),
        withKey(choice("Skip", "S", 0, ""), "S")));
  }

  showNothing() {
    this.item = null;
    this.show(h("p", { class: "calm" }, icon("check"), "Nothing waits for your second opinion."),
      h("p", { class: "muted small" }, "A small share of what others label is shown here, as long as its input is kept."));
  }

  show(...parts) {
    fill(this.place, parts);
  }
}
