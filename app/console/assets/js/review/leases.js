// Items of the review queue that this page holds: leased, renewed while somebody works, and given back.

import { Problem, context, get, post, tenantPath } from "../core/api.js";
import { asModerator } from "../core/who.js";

const LEASE_SECONDS = 300;
const RENEW_MILLISECONDS = 100_000;
const IDLE_MILLISECONDS = 15 * 60_000; // somebody who has gone away does not keep items from others

const KEPT = `sluice-leases:${context.tenant}`;

const path = (id) => tenantPath(`/review/${encodeURIComponent(id)}`);

export class Leases {
  #held = new Map(); // by prediction id
  #active = Date.now();

  /** `lost(id)` is told of an item whose lease has ended. */
  constructor(lost) {
    this.lost = lost;
    setInterval(() => this.#renew(), RENEW_MILLISECONDS);
    addEventListener("pagehide", () => this.#leave());
    for (const name of ["keydown", "pointerdown"]) addEventListener(name, () => { this.#active = Date.now(); });
  }

  /** Lease up to `limit` items, with so many reasons; the answer is that of GET .../review. */
  async more(limit, explain) {
    await this.#reclaim();
    const who = asModerator();
    const found = await get(tenantPath("/review"), { limit, explain, lease_seconds: LEASE_SECONDS, ...who });
    for (const item of found.items) this.#held.set(item.prediction_id, { lease: item.lease, who });
    return found;
  }

  has(id) {
    return this.#held.has(id);
  }

  /** Take an item out, because it is decided; return its lease and whose it is. */
  take(id) {
    const held = this.#held.get(id);
    this.#held.delete(id);
    return held;
  }

  /** Put an item back whose decision was never sent. */
  keep(id, held) {
    this.#held.set(id, held);
  }

  /** Give items back; `isLeaving`: the page ends, and does not wait for answers. */
  release(ids, isLeaving = false) {
    for (const id of ids) {
      const held = this.take(id);
      if (!held) continue;
      const body = { action: "release", lease: held.lease, ...held.who };
      if (isLeaving) leave(id, body);
      else post(path(id), body).catch(() => {}); // it returns by itself
    }
  }

  #leave() {
    if (context.isSignedOut) sessionStorage.setItem(KEPT, JSON.stringify([...this.#held]));
    else this.release([...this.#held.keys()], true);
  }

  /** Give back what could not be given back when the session ended. */
  async #reclaim() {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) || "[]");
    sessionStorage.removeItem(KEPT);
    const releases = kept.map(([id, { lease, who }]) => post(path(id), { action: "release", lease, ...who }));
    await Promise.allSettled(releases);
  }

  async #renew() {
    if (Date.now() - this.#active > IDLE_MILLISECONDS) return;
    for (const [id, held] of this.#held) {
      try {
        await post(path(id), { action: "renew", lease: held.lease, lease_seconds: LEASE_SECONDS, ...held.who });
      } catch (error) {
        if (!(error instanceof Problem) || error.type !== "lease-lost" || !this.#held.has(id)) continue;
        this.#held.delete(id);
        this.lost(id);
      }
    }
  }
}

function leave(id, body) {
  fetch(context.api + path(id), {
    method: "POST",
    keepalive: true,
    credentials: "same-origin",
    headers: { "content-type": "application/json", "x-requested-by": "console" },
    body: JSON.stringify(body),
  }).catch(() => {});
}
