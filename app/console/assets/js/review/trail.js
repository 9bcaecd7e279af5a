// The way through the queue: items that are decided, the one on screen, and those that come next. Every decision can be
// taken back, the last one first.

import { context } from "../core/api.js";

const REMEMBERED = 200; // entries, over a reload of the page
const WITH_ITEMS = 40; // decided entries that keep what they show

export class Trail {
  #key;

  constructor(moderator) {
    this.#key = `sluice-trail:${JSON.stringify([context.key, context.tenant, moderator])}`;
    this.entries = this.#recalled();
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
    this.#forgetOld();
    this.#remember();
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
    let last = null;
    for (const entry of this.entries) {
      const decision = entry.decisions.at(-1);
      if (decision && (!last || decision.order > last.decisions.at(-1).order)) last = entry;
    }
    if (!last) return null;
    const decision = last.decisions.pop();
    this.place = this.entries.indexOf(last);
    this.#remember();
    return [last, decision];
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
    return this.entries.flatMap((entry) => entry.decisions.map((decision) => [entry, decision]))
      .sort(([, a], [, b]) => b.order - a.order).slice(0, most);
  }

  decision(id) {
    for (const entry of this.entries) {
      const found = entry.decisions.find((each) => each.id === id);
      if (found) return [entry, found];
    }
    return null;
  }

  save() {
    this.#remember();
  }

  #forgetOld() {
    const decided = this.entries.filter((each) => !isOpen(each));
    for (const entry of decided.slice(0, -WITH_ITEMS)) entry.item = entry.view = null;
    for (const entry of decided.slice(0, -3)) entry.view = null;
  }

  #remember() {
    const kept = this.entries.filter((each) => !isOpen(each)).slice(-REMEMBERED)
      .map(({ id, decisions }) => ({ id, decisions }));
    try {
      sessionStorage.setItem(this.#key, JSON.stringify(kept));
    } catch {
      // Without room, only what is on the page can be taken back.
    }
  }

  #recalled() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.#key)) || [];
      return kept.map(({ id, decisions }) => ({ id, decisions, item: null, view: null }));
    } catch {
      return [];
    }
  }
}

export const isOpen = (entry) => entry.decisions.length === 0;
