// What to compare with: other settings, another tenant's model, and which labels.

import { context, get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { culprit, fieldOf, shownValue, valueIn } from "../settings/fields.js";
import { meaning } from "../settings/form.js";
import { GROUPS, titleOf } from "../settings/names.js";

// The log has features, not inputs, and no predictions: these change nothing.
const FIXED = new Set(["featurizer", "keep_predictions", "keep_inputs", "reviews_per_day", "review_uncertain", "review_band", "review_flagged", "review_random"]);
const FIRST = new Set(["learning", "threshold"]); // groups that are open

/** Return {element, asked(), refuse(message)}. `onRun()` is called when the form is sent. */
export function formOf({ known, config, asked = {}, onRun }) {
  const byName = new Map(known.settings.map((each) => [each.name, each]));
  const fields = new Map();
  const problems = new Map();
  const place = h("div", { class: "groups" });
  const run = h("button", { type: "submit", class: "button primary" }, "Compare");
  const model = h("input", { id: "model-of", type: "text", list: "model-tenants", maxlength: 128, autocomplete: "off", placeholder: "its own", spellcheck: "false",
    value: asked.model_of ?? "" });
  const tenants = h("datalist", { id: "model-tenants" });
  const [since, until] = ["since", "until"].map((name) => h("input", { id: name, type: "datetime-local", value: localTime(asked[name]) }));
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  let algorithm = config.algorithm;

  get("/tenants", { limit: 1000 }).then((found) => fill(tenants, found.tenants.filter((each) => each.tenant !== context.tenant)
    .map((each) => h("option", { value: each.tenant })))).catch(() => {}); // without it, the name is typed

  function draw(values) {
    fields.clear();
    problems.clear();
    const own = known.algorithms[algorithm].defaults;
    fill(place, GROUPS.map(([id, title, , names]) => {
      const there = names.filter((name) => byName.has(name) && name in own && !FIXED.has(name));
      if (!there.length) return null;
      const isOpen = FIRST.has(id) || there.some((name) => name in values);
      return h("details", { open: isOpen }, h("summary", {}, title), h("div", { class: "fields" }, there.map((name) => fieldFor(name, own, values))));
    }));
  }

  function fieldFor(name, own, values) {
    const id = `what-${name}`;
    const isOwn = algorithm === config.algorithm || isCommon(name);
    const usual = isOwn ? valueIn(config, name) : own[name];
    const blank = name === "algorithm" ? `as it is: ${config.algorithm}` : usual === undefined ? "not set" : `${isOwn ? "as it is" : "default"}: ${shownValue(usual)}`;
    const said = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
    const box = h("div", { class: "field what", title: meaning(byName.get(name)) });
    const field = fieldOf(byName.get(name), id, { blank, onChange: () => {
      said.hidden = true;
      box.classList.toggle("changed", field.read() !== undefined);
      if (name === "algorithm") chooseAlgorithm(field.read() ?? config.algorithm);
    } });
    field.control.setAttribute("aria-describedby", said.id);
    field.write(values[name]);
    box.classList.toggle("changed", field.read() !== undefined);
    fields.set(name, field);
    problems.set(name, (text) => {
      said.textContent = text;
      said.hidden = !text;
      field.control.setAttribute("aria-invalid", String(Boolean(text)));
      if (text) {
        field.control.closest("details").open = true;
        field.control.focus();
      }
    });
    return fill(box, h("label", { for: id }, titleOf(name)), field.element, said);
  }

  const isCommon = (name) => Object.values(known.algorithms).every((each) => name in each.defaults);

  function chooseAlgorithm(wanted) {
    const values = settings();
    algorithm = wanted;
    draw(wanted === config.algorithm ? { ...values, algorithm: undefined } : { ...values, algorithm: wanted });
    fields.get("algorithm").control.focus();
  }

  function settings() {
    const found = {};
    for (const [name, field] of fields) {
      const value = field.read();
      if (value !== undefined) found[name] = value;
    }
    return found;
  }

  if (asked.settings?.algorithm in known.algorithms) algorithm = asked.settings.algorithm;
  draw(asked.settings ?? {});
  const element = h("form", { class: "card what-form", onsubmit: (event) => { event.preventDefault(); onRun(); } },
    place, tenants,
    h("div", { class: "row others" },
      h("label", { class: "field" }, h("span", {}, "Model of another tenant"), model),
      h("label", { class: "field" }, h("span", {}, "Labels since"), since),
      h("label", { class: "field" }, h("span", {}, "and before"), until)),
    problem, h("div", { class: "row center" }, run,
      h("span", { class: "muted small" }, "Nothing is changed: all kept labels are learnt again on two copies of the model.")));
  return {
    element,
    run,
    asked() {
      for (const say of problems.values()) say("");
      problem.hidden = true;
      return clean({ settings: settings(), model_of: model.value.trim() || undefined, since: zoned(since.value), until: zoned(until.value) });
    },
    refuse(message) {
      const name = culprit(message, problems.keys());
      if (name) problems.get(name)(message);
      else { problem.textContent = message; problem.hidden = false; }
    },
  };
}

const clean = (given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
const zoned = (text) => (text ? new Date(text).toISOString() : undefined);

function localTime(text) {
  const time = text ? new Date(text) : null;
  if (!time || Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - 60_000 * time.getTimezoneOffset()).toISOString().slice(0, 16);
}
