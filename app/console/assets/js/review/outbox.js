// Decisions on their way. Each stays in localStorage until the service has acknowledged it, and is sent until then, in
// order. It is an entry of its own, so that tabs do not overwrite each other, and its id makes a second sending harmless.

import { Problem, context, newId, persistently, post, tenantPath } from "../core/api.js";

const TAB = newId();
const ANSWER_MILLISECONDS = 20_000;
const ADOPT_MILLISECONDS = 20_000;
const TRANSIENT = new Set([429, 502, 503, 504]);

const ended = () => ({ signal: AbortSignal.timeout(ANSWER_MILLISECONDS) });

/** Send a batch of labels until every item has a final answer. */
async function sendAll(entry) {
  const results = new Array(entry.items.length);
  let left = entry.items.map((_, place) => place);
  while (left.length) {
    const items = left.map((place) => entry.items[place]);
    const answer = await post("/feedback/batch", { tenant: context.tenant, items }, ended());
    answer.results.forEach((result, place) => { results[left[place]] = result; });
    const before = left.length;
    left = left.filter((place) => TRANSIENT.has(results[place].error?.status));
    if (left.length === before) throw new Problem(503, { detail: results[left[0]].error.detail });
  }
  return { results };
}

function send(entry) {
  const { id, kind, prediction, who } = entry;
  if (kind === "label") {
    const { label } = entry;
    return post("/feedback", { tenant: context.tenant, prediction_id: prediction, label, feedback_id: id, ...who }, ended());
  }
  if (kind === "labels") return sendAll(entry);
  if (kind === "retract") {
    return post(tenantPath("/retract"), { feedback_ids: entry.ids, reason: "undo in the console", ...who }, ended());
  }
  return post(tenantPath(`/review/${encodeURIComponent(prediction)}`), { action: kind, lease: entry.lease, ...who }, ended());
}

export class Outbox {
  #waiting = [];
  #isRunning = false;
  #prefix;
  #last = 0;

  /** `done(entry, answer)`, `failed(entry, problem)` and `changed(outbox, problem)` are told what happens. */
  constructor(moderator, { done, failed, changed }) {
    this.#prefix = `sluice-outbox:${JSON.stringify([context.key, context.tenant, moderator])}:`;
    this.told = { done, failed, changed };
    // A lock tells other tabs that this one is open. Without locks (plain HTTP), only a new page sends what others left.
    navigator.locks?.request(`sluice-tab-${TAB}`, () => new Promise(() => {}));
    if (navigator.locks) setInterval(() => this.adopt(), ADOPT_MILLISECONDS);
  }

  get unsent() {
    return this.#waiting.length;
  }

  add(entry) {
    // Times order what several tabs have stored; within one millisecond the order is kept, too.
    this.#last = Math.max(Date.now(), this.#last + 1);
    const kept = { id: newId(), ...entry, tab: TAB, place: String(this.#last).padStart(16, "0") };
    this.#store(kept);
    this.#waiting.push(kept);
    this.told.changed(this, null);
    this.#run();
    return kept;
  }

  /** Drop an entry that was never sent; false if it may have been. */
  cancel(id) {
    const place = this.#waiting.findIndex((each) => each.id === id);
    if (place < 0) return false;
    const entry = this.#waiting[place];
    if (entry.wasSent || !this.#isOurs(entry)) return false;
    this.#waiting.splice(place, 1);
    this.#forget(entry);
    this.told.changed(this, null);
    return true;
  }

  /** Send what an earlier page has left: one that was closed, or reloaded, before it had an answer. */
  async adopt() {
    const alive = new Set(((await navigator.locks?.query())?.held || []).map(({ name }) => name));
    const left = Object.keys(localStorage).filter((key) => key.startsWith(this.#prefix)).sort();
    for (const key of left) {
      let entry;
      try {
        entry = JSON.parse(localStorage.getItem(key));
      } catch {
        localStorage.removeItem(key);
      }
      if (!entry || entry.tab === TAB || alive.has(`sluice-tab-${entry.tab}`)) continue;
      const adopted = { ...entry, tab: TAB, wasSent: true };
      this.#store(adopted);
      this.#waiting.push(adopted);
    }
    if (!left.length || this.#isRunning) return;
    this.told.changed(this, null);
    this.#run();
  }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#waiting.length && !context.isSignedOut) {
      const entry = this.#waiting[0];
      if (this.#isOurs(entry)) await this.#deliver(entry);
      else this.#waiting.shift(); // another tab has adopted it
    }
    this.#isRunning = false;
  }

  async #deliver(entry) {
    entry.wasSent = true;
    let tell;
    try {
      const answer = await persistently(() => send(entry), { onWait: (error) => this.told.changed(this, error) });
      tell = () => this.told.done(entry, answer);
    } catch (error) {
      if (error.status === 401) return; // it is sent after the next sign-in
      tell = () => this.told.failed(entry, error);
    }
    this.#waiting.shift();
    this.#forget(entry);
    tell();
    this.told.changed(this, null);
  }

  #key(entry) {
    return `${this.#prefix}${entry.place}:${entry.id}`;
  }

  #isOurs(entry) {
    const stored = localStorage.getItem(this.#key(entry));
    return entry.isNotStored || (stored !== null && JSON.parse(stored).tab === TAB);
  }

  #store(entry) {
    try {
      localStorage.setItem(this.#key(entry), JSON.stringify(entry));
    } catch {
      entry.isNotStored = true; // no room: it is lost if the page is closed before it is sent, which the page warns of
    }
  }

  #forget(entry) {
    localStorage.removeItem(this.#key(entry));
  }
}
