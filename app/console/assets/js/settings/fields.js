// A control for each setting. The service is the judge of values: what cannot be read is sent as it is.

import { h } from "../core/dom.js";
import { SHARES, TARGET_TITLES } from "./names.js";

export const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

/** The value of a setting in a configuration, as PUT /tenants/{tenant} takes it. */
export function valueIn(config, name) {
  if (name !== "target") return config[name];
  return config.target ? { [config.target]: config.target_value } : null;
}

/** A value as text. */
export function shownValue(value) {
  if (value === undefined) return "not set";
  if (value === null) return "none";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (typeof value === "object") return Object.entries(value).map(([name, each]) => `${TARGET_TITLES[name] ?? name} ${each}`).join(", ");
  return String(value);
}

/** Make a control: {element, read(), write(value)}. `blank` says what an empty choice means, if there may be one. */
export function fieldOf(setting, id, { onChange, blank, disabled = false } = {}) {
  const make = setting.name === "target" ? targetField : isChoice(setting) ? choiceField : textField;
  return make(setting, { id, disabled, onChange, blank });
}

const isFlag = (setting) => setting.allowed === "true or false";
export const isChoice = (setting) => isFlag(setting) || (setting.choices.length > 0 && !setting.allowed.includes("number"));
const mayBeNull = (setting) => setting.allowed.includes("null");

function choiceField(setting, { id, disabled, onChange, blank }) {
  const values = isFlag(setting) ? [true, false] : [...setting.choices, ...(mayBeNull(setting) ? [null] : [])];
  const element = h("select", { id, disabled, onchange: onChange },
    blank !== undefined && h("option", { value: "" }, blank),
    values.map((value) => h("option", { value: JSON.stringify(value) }, shownValue(value))));
  return {
    element,
    control: element,
    read: () => (element.value === "" ? undefined : JSON.parse(element.value)),
    write: (value) => { element.value = value === undefined ? "" : JSON.stringify(value); },
  };
}

function textField(setting, { id, disabled, onChange, blank }) {
  const element = h("input", { id, type: "text", inputmode: setting.choices.length ? "text" : "decimal", disabled, autocomplete: "off",
    spellcheck: "false", placeholder: blank ?? (mayBeNull(setting) ? "none" : ""), oninput: () => { hint(); onChange?.(); } });
  const share = SHARES.has(setting.name) ? h("span", { class: "unit small muted", "aria-hidden": "true" }) : null;
  let isAbsent = false; // the configuration has no such value
  const hint = () => {
    const number = Number(element.value);
    if (share) share.textContent = element.value.trim() && Number.isFinite(number) ? `${Math.round(1e6 * number) / 1e4}%` : "";
  };
  return {
    element: share ? h("span", { class: "with-unit" }, element, share) : element,
    control: element,
    read() {
      const text = element.value.trim();
      if (!text) return blank !== undefined || isAbsent ? undefined : mayBeNull(setting) ? null : "";
      return Number.isFinite(Number(text)) ? Number(text) : text;
    },
    write(value) {
      isAbsent = value === undefined;
      element.value = value === undefined || value === null ? "" : String(value);
      hint();
    },
  };
}

function targetField(setting, { id, disabled, onChange, blank }) {
  const value = h("input", { type: "text", inputmode: "decimal", disabled, "aria-label": "Value of the target", autocomplete: "off", oninput: onChange });
  const name = h("select", { id, disabled, onchange: () => { show(); onChange?.(); } },
    blank !== undefined && h("option", { value: "?" }, blank), h("option", { value: "" }, "none"),
    Object.entries(TARGET_TITLES).map(([each, title]) => h("option", { value: each }, title)));
  const show = () => { value.hidden = name.value === "" || name.value === "?"; };
  return {
    element: h("span", { class: "target-field" }, name, value),
    control: name,
    read() {
      if (name.value === "?") return undefined;
      if (!name.value) return null;
      const text = value.value.trim();
      return { [name.value]: text && Number.isFinite(Number(text)) ? Number(text) : text };
    },
    write(given) {
      const [[each, number]] = given ? Object.entries(given) : [[given === undefined && blank !== undefined ? "?" : "", ""]];
      name.value = each;
      value.value = String(number);
      show();
    },
  };
}

/** Return which of some settings an error of the service is about: the first that it names. */
export function culprit(message, names) {
  const place = (name) => {
    const found = new RegExp(`(?<![\\w-])${name}(?:_value)?(?![\\w-])`).exec(message);
    return found ? found.index : Infinity;
  };
  const [first] = [...names].sort((a, b) => place(a) - place(b) || b.length - a.length);
  return first !== undefined && place(first) < Infinity ? first : null;
}
