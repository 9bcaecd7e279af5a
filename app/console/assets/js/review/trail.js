// The way through the queue: items that are decided, the one on screen, and those that come next. Every decision can be
// taken back, the last one first.

import { context } from "../core/api.js";

const REMEMBERED = 200; // decisions, over a reload of the page
const WITH_ITEMS = 40; // of the last decisions keep what they show,
const WITH_VIEWS = 3; // and so many their elements
const SAVE_MILLISECONDS = 300;

export class Trail {
  #key;
  #saving = 0;
  entries = [];
  decided = []; // [entry, decision], in order

  constructor(moderator) {
    this.#key = `sluice-trail:${JSON.stringify([context.key, context.tenant, moderator])}`;
    this.#recall();
    addEventListener("pagehide", () => this.#remember());
    this.place = this.entries.length;
  }

  get current() {
    return this.entries[this.place];
  }

  get undecided() {
    return this.entries.filter(isOpen);
  }

  find(id) {
    return this.entries.find((each) => each.id === id);
  }

  add(item) {
    const entry = { id: item.prediction_id, item, decisions: [], view: null };
    this.entries.push(entry);
    return entry;
  }

  /** Remove an entry that was given back or lost. */
  remove(entry) {
    const place = this.entries.indexOf(entry);
    if (place < 0) return;
    this.entries.splice(place, 1);
    if (place < this.place) this.place -= 1;
  }

  decide(entry, decision) {
    entry.decisions.push(decision);
    this.decided.push([entry, decision]);
    const old = this.decided.at(-1 - WITH_ITEMS)?.[0];
    if (old) old.item = null;
    const lately = this.decided.at(-1 - WITH_VIEWS)?.[0];
    if (lately) lately.view = null;
    this.save();
    this.advance();
  }

  /** Go to the next item that is to be decided: behind this one, else the first. */
  advance() {
    const behind = this.entries.findIndex((each, place) => place > this.place && isOpen(each));
    const next = behind >= 0 ? behind : this.entries.findIndex(isOpen);
    this.place = next >= 0 ? next : this.entries.length;
  }

  /** Take the last decision away, and go to its entry: [entry, decision], or null if there is none. */
  undo() {
    const last = this.decided.pop();
    if (!last) return null;
    const [entry] = last;
    entry.decisions.pop();
    this.place = this.entries.indexOf(entry);
    this.save();
    return last;
  }

  /** Look at the entry before or behind; false if there is none. */
  move(by) {
    const place = this.place + by;
    if (place < 0 || place >= this.entries.length) return false;
    this.place = place;
    return true;
  }

  /** The last decisions, the newest first: [[entry, decision], ...]. */
  latest(most) {
    return this.decided.slice(-most).reverse();
  }

  decision(id) {
    return this.decided.findLast(([, each]) => each.id === id) ?? null;
  }

  /** Remember the last decisions over a reload; soon, and not while a key is handled. */
  save() {
    clearTimeout(this.#saving);
    this.#saving = setTimeout(() => this.#remember(), SAVE_MILLISECONDS);
  }

  #remember() {
    const kept = this.decided.slice(-REMEMBERED).map(([{ id }, decision]) => [id, decision]);
    try {
      sessionStorage.setItem(this.#key, JSON.stringify(kept));
    } catch {
      // Without room, only what is on the page can be taken back.
    }
  }

  #recall() {
    let kept = [];
    try {
      kept = JSON.parse(sessionStorage.getItem(this.#key)) || [];
    } catch {
      // What cannot be read is not remembered.
    }
    for (const [id, decision] of kept) {
      let entry = this.find(id);
      if (!entry) this.entries.push(entry = { id, item: null, decisions: [], view: null });
      entry.decisions.push(decision);
      this.decided.push([entry, decision]);
    }
  }
}

export const isOpen = (entry) => entry.decisions.length === 0;
