// Keys in words: roles, expiry, who made what.

import { badge, h } from "../core/dom.js";
import { time } from "../core/format.js";
import { visible } from "../core/text.js";

export const ROLES = {
  predict: "Ask for verdicts.",
  feedback: "Give labels, work on the review queue, take back labels given with this key.",
  review: "See tenants, figures, labels and what was answered.",
  admin: "Change and delete tenants, manage keys, read the audit, take back everybody's labels.",
  metrics: "Read the metrics, for monitoring.",
};

export const PRESETS = {
  Moderator: ["predict", "feedback", "review"],
  Program: ["predict", "feedback"],
  Lead: ["review"],
  Administrator: Object.keys(ROLES),
};

const DAY = 86_400_000;
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** A distance in time in words: "in 3 days", "2 months ago". */
export function distance(milliseconds) {
  const difference = milliseconds - Date.now();
  for (const [unit, size] of [["year", 365 * DAY], ["month", 30 * DAY], ["day", DAY], ["hour", 3_600_000], ["minute", 60_000]]) {
    if (Math.abs(difference) >= size) return words.format(Math.trunc(difference / size), unit);
  }
  return difference < 0 ? "just now" : "in less than a minute";
}

export const isExpired = (key) => key.expires_at !== null && key.expires_at <= Date.now();

export function expiry(key) {
  if (key.expires_at === null) return h("span", { class: "muted" }, "never");
  const title = time(key.expires_at);
  if (isExpired(key)) return h("span", { class: "badge warn", title }, `expired ${distance(key.expires_at)}`);
  const isSoon = key.expires_at - Date.now() < 14 * DAY;
  return h("span", { class: isSoon ? "badge warn" : "", title }, distance(key.expires_at));
}

/** The name of a key, with its id where it has none. */
export function keyName(key) {
  return key.name ? h("bdi", {}, visible(key.name)) : h("span", { class: "mono" }, key.id);
}

export const roleBadges = (roles) => roles.map((role) => badge(role, role === "admin" ? "accent" : ""));

/** The keys that end with a key: those that it made, and those that these made. */
export function madeWith(id, keys) {
  const found = [];
  const seen = new Set([id]);
  for (let waiting = [id]; waiting.length > 0;) {
    const makers = new Set(waiting);
    const next = keys.filter((key) => makers.has(key.made_by) && !seen.has(key.id));
    for (const key of next) seen.add(key.id);
    found.push(...next);
    waiting = next.map((key) => key.id);
  }
  return found;
}
