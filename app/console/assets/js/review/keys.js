// The keys of the review page. People can change them; this browser remembers.

import { button, dialog, fill, h } from "../core/dom.js";

const STORED = "sluice-keys";
export const ACTIONS = {
  anomaly: ["a", "Anomaly, and the next item"],
  normal: ["n", "Normal, and the next item"],
  unsure: ["u", "Unsure: another person decides"],
  skip: ["s", "Skip: it is not shown to you again"],
  undo: ["z", "Take back the last decision, then the one before"],
  back: ["ArrowLeft", "Look at the item before"],
  forward: ["ArrowRight", "Look at the next item"],
  help: ["?", "Show these keys"],
};
const TAKEN = new Set(["g", "Tab", "Enter", " ", "Escape", "Shift", "Control", "Alt", "Meta", "CapsLock", "AltGraph"]);
const SHOWN = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

const same = (key) => (key.length === 1 ? key.toLowerCase() : key);

function stored() {
  try {
    return JSON.parse(localStorage.getItem(STORED)) || {};
  } catch {
    return {};
  }
}

export function keys() {
  const own = stored();
  return Object.fromEntries(Object.entries(ACTIONS).map(([name, [usual]]) => [name, own[name] || usual]));
}

export const keyName = (key) => SHOWN[key] || (key.length === 1 ? key.toUpperCase() : key);
export const keyOf = (action) => keyName(keys()[action]);

/** Call `act(action, event)` for keys that are meant for the page: none with Ctrl, Alt or Meta, and none in a field. */
export function listen(act) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
    const action = Object.entries(keys()).find(([, key]) => key === same(event.key))?.[0];
    if (!action) return;
    if ((action === "back" || action === "forward") && event.target.closest?.("[data-scrolls]")) return;
    event.preventDefault();
    if (!event.repeat) act(action, event); // a key that is held down decides one item
  });
}

function reasonAgainst(key, action, chosen) {
  if (TAKEN.has(key)) return `${key === "g" ? "G opens another tenant" : "That key has a meaning already"}. Press another one.`;
  const other = Object.entries(chosen).find(([name, each]) => name !== action && each === key)?.[0];
  return other ? `That key is used for “${ACTIONS[other][1]}”. Press another one.` : "";
}

/** Show the keys, and let them be changed. */
export async function showKeys() {
  await dialog("Keys", (close) => {
    const chosen = keys();
    const hint = h("p", { class: "muted small", role: "status" }, "A key that is held down decides one item only.");
    const shown = Object.fromEntries(Object.keys(ACTIONS).map((name) => [name, h("kbd")]));
    let changing = null;
    const show = () => {
      for (const [name, place] of Object.entries(shown)) place.textContent = changing === name ? "press a key" : keyName(chosen[name]);
    };
    const change = (name) => {
      changing = name;
      show();
      hint.textContent = "Press the new key, or Esc.";
    };
    const rows = h("tbody", {}, Object.entries(ACTIONS).map(([name, [, meaning]]) => h("tr", {}, h("td", {}, shown[name]), h("td", {}, meaning),
      h("td", { class: "number" }, button("Change", () => change(name), { kind: "quiet small", "aria-label": `Change the key for: ${meaning}` })))));
    const store = () => localStorage.setItem(STORED, JSON.stringify(chosen));
    show();
    const content = h("div", { class: "content" }, h("table", { class: "keys" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Key"), h("th", { scope: "col" }, "Meaning"), h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "Change")))),
      rows), hint, h("footer", {}, button("Use the usual keys", () => {
      for (const [name, [usual]] of Object.entries(ACTIONS)) chosen[name] = usual;
      localStorage.removeItem(STORED);
      changing = null;
      show();
    }), button("Close", () => close(), { kind: "primary" })));
    content.addEventListener("keydown", (event) => {
      if (!changing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      const key = same(event.key);
      const against = key === "Escape" ? "" : reasonAgainst(key, changing, chosen);
      if (against) {
        hint.textContent = against;
        return;
      }
      const name = changing;
      changing = null;
      if (key !== "Escape") {
        chosen[name] = key;
        store();
      }
      hint.textContent = key === "Escape" ? "Nothing was changed." : `${keyName(key)}: ${ACTIONS[name][1]}`;
      show();
    });
    return content;
  }, { wide: true });
}
