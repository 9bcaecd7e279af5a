// All settings in groups: looked at by everybody, edited in place by administrators.

import { h, button, fill } from "../core/dom.js";
import { visible } from "../core/text.js";
import { GROUPS, titleOf } from "./names.js";
import { culprit, fieldOf, isChoice, same, shownValue, valueIn } from "./fields.js";

/** Return {element, changes(), config(), reset(), refuse(message)}. `onChange()` is called when something was edited. */
export function formOf({ known, config, isAdmin, extras, onChange }) {
  const byName = new Map(known.settings.map((each) => [each.name, each]));
  const grouped = new Set(GROUPS.flatMap(([, , , names]) => names));
  const rest = [...byName.keys()].filter((each) => !grouped.has(each));
  const groups = rest.length ? [...GROUPS, ["other", "Others", "", rest]] : GROUPS;
  const rows = new Map();
  const element = h("div", { class: "stack" });
  let algorithm = config.algorithm;

  const defaults = () => known.algorithms[algorithm].defaults;
  const starts = (name) => (algorithm === config.algorithm || !(name in defaults()) ? valueIn(config, name) : ownStart(name));
  // Another algorithm keeps what all algorithms have, and begins with its own defaults for the rest.
  const ownStart = (name) => (name in known.algorithms[config.algorithm].defaults && isCommon(name) ? valueIn(config, name) : defaults()[name]);
  const usual = (name) => (isCommon(name) ? known.new_tenants[name] : defaults()[name]);
  const isCommon = (name) => Object.values(known.algorithms).every((each) => name in each.defaults);

  const edited = () => { for (const row of rows.values()) row.show(); onChange(); };

  function draw() {
    const kept = new Map([...rows].filter(([, row]) => row.isChanged()).map(([name, row]) => [name, row.read()]));
    rows.clear();
    fill(element, h("nav", { class: "jump", "aria-label": "Groups" }, groups.filter(([, , , names]) => names.some((name) => name in defaults()))
      .map(([id, title]) => h("a", { href: `#${id}` }, title))), groups.map(([id, title, text, names]) => {
      const there = names.filter((name) => byName.has(name) && name in defaults());
      if (!there.length) return null;
      const made = there.map((name) => rowOf(byName.get(name)));
      return h("section", { class: "card group", id, "aria-labelledby": `${id}-title` },
        h("div", { class: "group-head" }, h("h2", { id: `${id}-title` }, title), h("p", { class: "muted" }, text)), made, extras[id]);
    }));
    for (const [name, value] of kept) rows.get(name)?.write(value);
    for (const row of rows.values()) row.show();
  }

  function rowOf(setting) {
    const { name } = setting;
    const id = `setting-${name}`;
    const start = name === "algorithm" ? config.algorithm : starts(name);
    const original = valueIn(config, name);
    const field = isAdmin ? fieldOf(setting, id, { onChange: () => { say(""); name === "algorithm" ? chooseAlgorithm(field.read()) : edited(); } }) : null;
    field?.write(start);
    const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
    const was = h("p", { class: "was small", hidden: true });
    const say = (text) => {
      problem.hidden = !text;
      problem.textContent = text;
      field.control.setAttribute("aria-invalid", String(Boolean(text)));
    };
    field?.control.setAttribute("aria-describedby", `${id}-meaning ${id}-problem`);
    const heading = isAdmin ? h("label", { for: id }, titleOf(name)) : h("span", { class: "label" }, titleOf(name));
    const row = h("div", { class: "setting", data: { setting: name } },
      h("div", { class: "about" }, heading, " ", h("code", { class: "muted" }, name), h("p", { class: "muted small", id: `${id}-meaning` }, meaning(setting)),
        name === "algorithm" && h("p", { class: "small" }, known.algorithms[algorithm].summary)),
      h("div", { class: "control" }, field ? field.element : h("p", { class: "value" }, shownValue(start)), was, problem),
      h("div", { class: "facts small muted" }, h("p", {}, "Default ", h("b", {}, shownValue(usual(name)))), h("p", {}, allowed(setting))));
    const isChanged = () => Boolean(field) && !same(field.read(), starts(name)) && (name !== "algorithm" || field.read() !== config.algorithm);
    rows.set(name, {
      read: () => field?.read(), write: (value) => field?.write(value), isChanged, say,
      focus: () => field?.control.focus(),
      show() {
        const moved = name === "algorithm" ? algorithm !== config.algorithm : isChanged();
        row.classList.toggle("changed", moved);
        was.hidden = !moved;
        if (moved) {
          fill(was, `was ${shownValue(original)} `, button("Reset", () => { say("");
            if (name === "algorithm") chooseAlgorithm(config.algorithm);
            else { field.write(starts(name)); edited(); }
            field.control.focus();
          }, { kind: "quiet small" }));
        }
      },
    });
    return row;
  }

  function chooseAlgorithm(wanted) {
    algorithm = wanted;
    draw();
    rows.get("algorithm").write(algorithm);
    rows.get("algorithm").show();
    rows.get("algorithm").focus();
    onChange();
  }

  draw();
  return {
    element,
    /** What differs, as PUT takes it. */
    changes() {
      const found = {};
      if (algorithm !== config.algorithm) found.algorithm = algorithm;
      for (const [name, row] of rows) if (name !== "algorithm" && row.isChanged()) found[name] = row.read();
      return found;
    },
    /** The values that the fields have now. */
    value: (name) => (rows.has(name) ? rows.get(name).read() ?? starts(name) : valueIn(config, name)),
    original: (name) => valueIn(config, name),
    reset() { algorithm = config.algorithm; rows.clear(); draw(); onChange(); },
    /** Show an error at the field that it is about; return whether there is one. */
    refuse(message) {
      const name = culprit(message, rows.keys());
      if (!name) return false;
      rows.get(name).say(message);
      rows.get(name).focus();
      return true;
    },
  };
}

export const meaning = (setting) => visible(setting.meaning).replaceAll("`", "");
const allowed = (setting) => (isChoice(setting) || setting.name === "target" ? "" : sentenceCase(setting.allowed.replaceAll("'", "")));
const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);
