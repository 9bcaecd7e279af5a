// What every page has: the menu, the theme, the tenant, who works here, signing out.

import { context, get, remove, signInAgain } from "./api.js";
import { byId, button, dialog, fail, fill, h } from "./dom.js";
import { moderator, setModerator } from "./who.js";

byId("theme-button").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("sluice-theme", root.dataset.theme);
  document.dispatchEvent(new CustomEvent("theme"));
});

const side = byId("side");
const menuButton = byId("menu-button");
function openMenu(isOpen) {
  side.classList.toggle("open", isOpen);
  menuButton.setAttribute("aria-expanded", String(isOpen));
}
menuButton.addEventListener("click", () => openMenu(!side.classList.contains("open")));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && side.classList.contains("open")) openMenu(false);
});

byId("sign-out")?.addEventListener("click", async () => {
  try {
    await remove("/session");
    location.assign(`${context.root}/sign-in`);
  } catch (error) {
    if (error.status === 401) signInAgain();
    else fail(error);
  }
});

function showWho() {
  const name = moderator();
  if (name) fill(byId("who-name"), name);
  else if (!context.key) fill(byId("who-name"), "Who are you?");
}
showWho();
byId("who-button").addEventListener("click", async () => {
  const name = await dialog("Who you are", (close) => {
    const field = h("input", { id: "who-field", maxlength: 200, value: moderator(), autocomplete: "nickname",
      disabled: !context.speaksForOthers });
    return h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); close(field.value.trim()); } },
      h("label", { for: "who-field" }, "Your name, which is stored with every label that you give"), field,
      h("p", { class: "muted small" }, context.speaksForOthers
        ? "Choose one name and keep it: leases, history and agreement go by it."
        : "Your key carries this name, and it cannot speak for others."),
      h("footer", {}, button("Cancel", () => close()), h("button", { type: "submit", class: "button primary" }, "Save")));
  });
  if (name !== undefined && context.speaksForOthers) {
    setModerator(name);
    showWho();
    document.dispatchEvent(new CustomEvent("moderator"));
  }
});

async function switchTenant() {
  const name = await dialog("Go to another tenant", (close) => {
    const list = h("ul", { class: "choices" });
    const field = h("input", { type: "search", placeholder: "Name of a tenant", "aria-label": "Name of a tenant", maxlength: 128 });
    let known = [];
    const show = () => fill(list, known.filter((each) => each.tenant.includes(field.value)).slice(0, 12)
      .map((each) => h("li", {}, button(each.tenant, () => close(each.tenant), { kind: "quiet wide" }))));
    field.addEventListener("input", show);
    if (context.roles.has("review")) {
      get("/tenants", { limit: 1000 }).then((found) => { known = found.tenants; show(); }).catch(fail);
    }
    return h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); if (field.value) close(field.value); } },
      field, list);
  });
  if (name) location.assign(`${context.root}/tenants/${encodeURIComponent(name)}/${document.body.dataset.page}`);
}
byId("tenant-switch")?.addEventListener("click", switchTenant);
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, dialog, [contenteditable]");
  if (event.key === "g" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && context.tenant) {
    event.preventDefault();
    switchTenant();
  }
});

/** Show how many items wait in the menu. */
export function showQueueCount(waiting) {
  const place = byId("queue-count");
  if (!place) return;
  place.hidden = !waiting;
  place.textContent = waiting > 999 ? "999+" : String(waiting);
}
