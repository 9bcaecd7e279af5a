// How many items this person has decided today, in this browser.

import { context } from "../core/api.js";

export class Day {
  constructor(moderator) {
    this.moderator = moderator;
  }

  get #key() {
    const now = new Date();
    const date = [now.getFullYear(), now.getMonth() + 1, now.getDate()].join("-");
    return `sluice-day:${JSON.stringify([context.key, context.tenant, this.moderator])}:${date}`;
  }

  get counts() {
    try {
      return JSON.parse(localStorage.getItem(this.#key)) || {};
    } catch {
      return {};
    }
  }

  get total() {
    return Object.values(this.counts).reduce((sum, each) => sum + each, 0);
  }

  /** Count decisions of a kind; a negative number takes some back. */
  add(kind, number = 1) {
    const counts = this.counts;
    counts[kind] = Math.max((counts[kind] || 0) + number, 0);
    const prefix = this.#key.slice(0, this.#key.lastIndexOf(":") + 1);
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(prefix) && key !== this.#key) localStorage.removeItem(key);
    }
    localStorage.setItem(this.#key, JSON.stringify(counts));
  }
}
