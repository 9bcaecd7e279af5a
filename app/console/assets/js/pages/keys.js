// Keys: who may do what, for which tenants, until when; and the last changes.

import { context, get, signInAgain } from "../core/api.js";
import { badge, button, byId, empty, fail, fill, h } from "../core/dom.js";
import { time } from "../core/format.js";
import { visible } from "../core/text.js";
import { AuditTable } from "../keys/audit.js";
import { createKey, revokeKey, rotateKey, showSecret } from "../keys/dialogs.js";
import { distance, expiry, isExpired, keyName, roleBadges } from "../keys/words.js";

let keys = [];
const audit = new AuditTable(keys);

async function load() {
  try {
    ({ keys } = await get("/keys"));
  } catch (error) {
    fill(byId("keys-none"), empty("The keys cannot be shown", error.message));
    return;
  }
  draw();
  await audit.use(keys);
}

function draw() {
  const text = byId("find").value.trim().toLowerCase();
  const fits = (key) => [key.id, key.name, key.moderator || "", ...key.roles, ...key.tenants].some((each) => each.toLowerCase().includes(text));
  const shown = keys.filter(fits).sort((a, b) => isExpired(a) - isExpired(b) || b.created_at - a.created_at);
  fill(byId("keys-rows"), shown.map(row));
  byId("keys-table").hidden = shown.length === 0;
  byId("find-field").hidden = keys.length < 8;
  fill(byId("keys-none"), shown.length === 0 && (keys.length === 0
    ? empty("No keys yet", "Everybody who reaches this service may do everything. Create a key for an administrator first; from then on every request needs one.")
    : empty("No key fits", "")));
}

function row(key) {
  const maker = keys.find((each) => each.id === key.made_by);
  const name = key.name || key.id;
  return h("tr", { class: isExpired(key) ? "expired" : "" },
    h("td", {}, h("div", { class: "key-name" }, keyName(key), key.id === context.key && badge("you", "accent")),
      key.name && h("div", { class: "mono muted small" }, key.id)),
    h("td", {}, h("div", { class: "badges" }, roleBadges(key.roles))),
    h("td", {}, h("div", { class: "badges mono small" }, key.tenants.map((tenant) => h("span", {}, tenant === "*" ? "all tenants" : tenant)))),
    h("td", {}, key.moderator ? [h("bdi", {}, visible(key.moderator)), key.speaks_for_others && h("div", { class: "muted small" }, "and speaks for others")]
      : h("span", { class: "muted" }, "–")),
    h("td", { title: time(key.created_at) }, distance(key.created_at),
      key.made_by && h("div", { class: "muted small" }, "with ", maker ? keyName(maker) : h("span", { class: "mono" }, key.made_by))),
    h("td", {}, expiry(key)),
    h("td", { class: "acts" }, button("Rotate", () => rotate(key), { kind: "small", "aria-label": `Rotate ${visible(name)}` }),
      button("Revoke", () => revoke(key), { kind: "small danger", "aria-label": `Revoke ${visible(name)}` })));
}

async function create() {
  const isFirst = !context.key && keys.length === 0;
  const made = await createKey({ isFirst });
  if (!made) return;
  await showSecret(made);
  if (isFirst) signInAgain();
  else await load();
}

async function rotate(key) {
  const made = await rotateKey(key);
  if (!made) return;
  await showSecret(made, { title: "The new key" });
  await load();
}

async function revoke(key) {
  if (await revokeKey(key, keys)) await load();
}

byId("create").addEventListener("click", () => create().catch(fail));
byId("find").addEventListener("input", draw);
await load();
