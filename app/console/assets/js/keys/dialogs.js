// Creating, rotating and revoking keys. A secret is shown once, and nothing of the page keeps it.

import { context, post, remove } from "../core/api.js";
import { button, dialog, fail, h, toast } from "../core/dom.js";
import { visible } from "../core/text.js";
import { PRESETS, ROLES, keyName, madeWith, roleBadges } from "./words.js";

const DAY = 86_400;
const LIFETIMES = [["", "Never"], [30 * DAY, "In 30 days"], [90 * DAY, "In 90 days"], [365 * DAY, "In a year"], [DAY, "Tomorrow"]];
const OVERLAPS = [[DAY, "A day"], [3600, "An hour"], [7 * DAY, "A week"], [0, "Not at all: the old key ends now"]];

const options = (choices) => choices.map(([value, text]) => h("option", { value: String(value) }, text));
const field = (input, label, help) => h("div", { class: "field" }, h("label", { for: input.id }, label), input,
  help && h("span", { class: "muted small", id: `${input.id}-help` }, help));

/** Ask for a new key and create it; resolves with {key, secret}. */
export function createKey({ isFirst }) {
  return dialog("Create a key", (close) => {
    const name = h("input", { id: "key-name", maxlength: 128, autocomplete: "off", placeholder: "Such as: moderation page" });
    const tenants = h("input", { id: "key-tenants", required: true, autocomplete: "off", spellcheck: "false",
      value: isFirst ? "*" : "", placeholder: "acme, acme-*", "aria-describedby": "key-tenants-help" });
    const moderator = h("input", { id: "key-moderator", maxlength: 200, autocomplete: "off", spellcheck: "false" });
    const others = h("input", { id: "key-others", type: "checkbox", disabled: true });
    const lifetime = h("select", { id: "key-lifetime" }, options(LIFETIMES));
    const roles = Object.entries(ROLES).map(([role, meaning]) => {
      const box = h("input", { type: "checkbox", id: `role-${role}`, value: role });
      return { box, row: h("label", { class: "role", for: box.id }, box, h("span", {}, h("strong", {}, role), h("span", { class: "muted small" }, meaning))) };
    });
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const choose = (wanted) => { for (const { box } of roles) box.checked = wanted.includes(box.value); };
    choose(isFirst ? PRESETS.Administrator : PRESETS.Moderator);
    moderator.addEventListener("input", () => {
      others.disabled = !moderator.value.trim();
      if (others.disabled) others.checked = false;
    });
    const create = h("button", { type: "submit", class: "button primary" }, "Create the key");
    const submit = async (event) => {
      event.preventDefault();
      const wanted = {
        name: name.value.trim(),
        roles: roles.filter(({ box }) => box.checked).map(({ box }) => box.value),
        tenants: tenants.value.split(/[\s,]+/).filter(Boolean),
      };
      if (moderator.value.trim()) Object.assign(wanted, { moderator: moderator.value.trim(), speaks_for_others: others.checked });
      if (lifetime.value) wanted.expires_in_seconds = Number(lifetime.value);
      create.disabled = true;
      try {
        close(await post("/keys", wanted));
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
        create.disabled = false;
      }
    };
    return h("form", { method: "dialog", class: "key-form", onsubmit: submit },
      isFirst && h("p", { class: "notice" }, "This is the first key. From then on every request needs one, and so does this page. Give it the role admin, and keep it."),
      h("div", { class: "pair" }, field(name, "Name"), field(lifetime, "Expires", "A key also ends with the key that made it.")),
      h("fieldset", {}, h("legend", {}, "What it may do"),
        h("div", { class: "row center presets" }, Object.keys(PRESETS).map((preset) => button(preset, () => choose(PRESETS[preset]), { kind: "small" }))),
        h("div", { class: "roles" }, roles.map(({ row }) => row))),
      field(tenants, "For which tenants", "Names, prefixes such as acme-*, or * for all, with commas between them."),
      h("div", { class: "pair" },
        field(moderator, "Moderator", "Whose labels are given with it. A request that names somebody else is refused."),
        h("label", { class: "role", for: "key-others" }, others, h("span", {}, "It may speak for others", h("span", { class: "muted small" }, "For a page that several moderators share.")))),
      problem,
      h("footer", {}, button("Cancel", () => close()), create));
  }, { wide: true });
}

/** Show a secret, this once. */
export function showSecret({ key, secret }, { title = "The new key" } = {}) {
  return dialog(title, (close) => {
    const shown = h("input", { id: "secret", class: "mono", readonly: true, value: secret, autocomplete: "off", spellcheck: "false" });
    shown.addEventListener("focus", () => shown.select());
    const copied = h("span", { class: "muted small", role: "status" });
    return h("div", { class: "content" },
      h("p", {}, "Copy it now and keep it safe. It is not stored, so nobody can show it again."),
      h("label", { for: "secret" }, "Secret of ", keyName(key)),
      h("div", { class: "row center secret" }, shown, button("Copy", async () => {
        copied.textContent = (await copy(shown)) ? "Copied." : "Your browser does not allow that: press Ctrl+C.";
      }, { kind: "primary" })), copied,
      h("footer", {}, button("I have kept it", () => close())));
  }, { wide: true });
}

async function copy(shown) {
  try {
    await navigator.clipboard.writeText(shown.value);
    return true;
  } catch {
    shown.focus();
    shown.select();
    return document.execCommand("copy");
  }
}

/** Make a new key in place of one that stays valid for a while; resolves with {key, secret}. */
export function rotateKey(key) {
  return dialog("Rotate a key", (close) => {
    const overlap = h("select", { id: "overlap" }, options(OVERLAPS));
    const rotate = h("button", { type: "submit", class: "button primary" }, "Rotate");
    const submit = async (event) => {
      event.preventDefault();
      rotate.disabled = true;
      try {
        close(await post(`/keys/${encodeURIComponent(key.id)}/rotate`, { overlap_seconds: Number(overlap.value) }));
      } catch (error) {
        fail(error);
        rotate.disabled = false;
      }
    };
    return h("form", { method: "dialog", onsubmit: submit },
      h("p", {}, "A new key with the same roles, tenants, moderator and expiry takes the place of ", h("strong", {}, keyName(key)), "."),
      field(overlap, "The old key stays valid for"),
      key.id === context.key && h("p", { class: "notice" }, "You are signed in with this key: sign in with the new one before the old one ends."),
      h("footer", {}, button("Cancel", () => close()), rotate));
  });
}

/** Show which keys end, and revoke them; resolves with true if it was done. */
export function revokeKey(key, keys) {
  const others = madeWith(key.id, keys);
  const all = [key, ...others];
  const isOwn = all.some((each) => each.id === context.key);
  return dialog("Revoke a key", (close) => {
    const revoke = h("button", { type: "submit", class: "button danger" }, all.length === 1 ? "Revoke the key" : `Revoke ${all.length} keys`);
    const submit = async (event) => {
      event.preventDefault();
      revoke.disabled = true;
      try {
        await remove(`/keys/${encodeURIComponent(key.id)}`);
        toast(all.length === 1 ? "The key is revoked." : `${all.length} keys are revoked.`);
        close(true);
      } catch (error) {
        fail(error);
        revoke.disabled = false;
      }
    };
    return h("form", { method: "dialog", onsubmit: submit },
      h("p", {}, others.length === 0 ? "Within a second it is refused everywhere. This cannot be undone."
        : `Within a second it is refused everywhere, and so are the ${others.length === 1 ? "key that it made" : `${others.length} keys that it and these made`}. This cannot be undone.`),
      h("ul", { class: "ending" }, all.map((each) => h("li", {}, h("strong", {}, keyName(each)), h("span", { class: "mono muted small" }, each.id),
        each.moderator && h("bdi", { class: "muted" }, visible(each.moderator)), roleBadges(each.roles), each !== key && h("span", { class: "muted small" }, "made with it")))),
      isOwn && h("p", { class: "notice" }, "You are signed in with one of them: your session ends too."),
      h("footer", {}, button("Cancel", () => close(false)), revoke));
  });
}

