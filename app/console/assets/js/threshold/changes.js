// What an administrator can do about the threshold: fix it, let it be learnt, or let it follow a target.

import { put, tenantPath } from "../core/api.js";
import { badge, button, confirm, h, toast } from "../core/dom.js";
import { OBJECTIVES, TARGETS } from "./words.js";
import { real } from "../core/format.js";

/** Return the forms. `page` has {tenant, mark(), setMark(), preview(name, value), describe(threshold), reload()}. */
export function changes(page) {
  return [fixed(page), learnt(page), target(page)];
}

function card(title, isInUse, text, fields, actions) {
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const form = h("form", { class: "card change", onsubmit: (event) => event.preventDefault() },
    h("h2", {}, title, isInUse && badge("in use", "accent")), h("p", { class: "muted" }, text), fields, problem, h("div", { class: "row center actions" }, actions(problem)));
  return form;
}

/** Change the settings after a question, and offer to undo it. */
async function change(page, settings, question, problem) {
  problem.hidden = true;
  if (!await confirm("Change the threshold?", question, "Change it")) return;
  const before = settingsOf(page.tenant.config);
  try {
    await put(tenantPath(), settings);
    await page.reload();
    toast("The threshold is changed.", { seconds: 15, action: { text: "Undo", run: () => undo(page, before) } });
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }
}

async function undo(page, before) {
  try {
    await put(tenantPath(), before);
    await page.reload();
    toast("The threshold is as it was.");
  } catch (error) {
    toast(error.message, { kind: "bad", seconds: 12 });
  }
}

function settingsOf({ threshold, objective, target: name, target_value: value, costs, cost_positive: missed, cost_negative: alarm }) {
  const cost = costs === undefined ? {} : costs === "auto" ? { costs } : { cost_positive: missed, cost_negative: alarm };
  return name ? { target: { [name]: value }, objective, ...cost } : { target: null, threshold, objective, ...cost };
}

function fixed(page) {
  const field = h("input", { type: "text", inputmode: "decimal", id: "fixed-threshold", value: real(page.mark(), 3).replace("−", "-"),
    onchange: () => { const wanted = Number(field.value); if (field.value.trim() && Number.isFinite(wanted)) page.setMark(wanted, field); } });
  const words = h("p", { class: "small preview" });
  page.onMark((threshold, by) => {
    if (by !== field) field.value = threshold.toFixed(3);
    words.textContent = page.describe(threshold);
  });
  return card("A fixed number", page.tenant.config.threshold !== "auto", "Labels no longer move it, so look again when the model has learnt more.",
    [h("label", { class: "field" }, h("span", {}, "Threshold"), field), words], (problem) => [
      h("button", { type: "submit", class: "button primary", onclick: () => {
        const wanted = Number(field.value);
        if (!field.value.trim() || !Number.isFinite(wanted)) {
          problem.textContent = "The threshold must be a number.";
          problem.hidden = false;
          return;
        }
        change(page, { threshold: wanted }, `The threshold becomes ${real(wanted)} and stays there. ${page.describe(wanted)}`, problem);
      } }, "Set this number"),
      button("Back to now", () => page.setMark(page.now), { kind: "quiet" }),
    ]);
}

function learnt(page) {
  const { config } = page.tenant;
  const hasCosts = "costs" in config;
  const known = Object.entries(OBJECTIVES).filter(([name]) => name !== "cost" || hasCosts);
  const now = config.objective ?? "balanced";
  const costs = h("div", { class: "row costs", hidden: now !== "cost" },
    costField("A missed anomaly costs", "missed-cost", config.cost_positive ?? 5),
    costField("A false alarm costs", "alarm-cost", config.cost_negative ?? 1));
  const radios = known.map(([name, { title, text }]) => h("label", { class: "choice" },
    h("input", { type: "radio", name: "objective", value: name, checked: name === now,
      onchange: () => { costs.hidden = name !== "cost"; } }),
    h("span", {}, h("strong", {}, title), h("span", { class: "muted small" }, text))));
  return card("Learnt from the labels", config.threshold === "auto" && !page.tenant.target, "Each label moves it to where it is best for an objective.",
    [h("fieldset", {}, h("legend", { class: "visually-hidden" }, "Objective"), radios), costs], (problem) => [
      h("button", { type: "submit", class: "button primary", onclick: (event) => {
        const form = event.target.form;
        const objective = new FormData(form).get("objective");
        const settings = { threshold: "auto", target: null, objective };
        if (objective === "cost") {
          settings.cost_positive = Number(form.elements["missed-cost"].value);
          settings.cost_negative = Number(form.elements["alarm-cost"].value);
        }
        change(page, settings, `The threshold is learnt from the labels again, best for: ${OBJECTIVES[objective].title.toLowerCase()}.`
          + (objective === "cost" ? " The costs also weigh what the model learns from each label." : ""), problem);
      } }, "Learn it from the labels"),
    ]);
}

function costField(title, name, value) {
  return h("label", { class: "field grow" }, h("span", {}, title), h("input", { name, type: "text", inputmode: "decimal", value: String(value) }));
}

function target(page) {
  const active = page.tenant.target;
  const first = active?.name ?? "false_positive_rate";
  const valueOf = (name) => (active?.name === name ? (TARGETS[name].isShare ? 100 : 1) * active.value : TARGETS[name].first);
  const text = h("p", { class: "muted small" });
  const preview = h("p", { class: "small preview", "aria-live": "polite" });
  const unit = h("span", { class: "unit" });
  const value = h("input", { type: "text", inputmode: "decimal", id: "target-value", "aria-label": "Value of the target", oninput: () => show() });
  const names = h("select", { id: "target-name", onchange: () => { value.value = plain(valueOf(names.value)); show(); } },
    Object.entries(TARGETS).map(([name, { title }]) => h("option", { value: name }, title)));
  names.value = first;
  value.value = plain(valueOf(first));
  const wanted = () => (TARGETS[names.value].isShare ? Number(value.value) / 100 : Number(value.value));
  const show = (moves = true) => {
    const { text: meaning, isShare } = TARGETS[names.value];
    text.textContent = meaning;
    unit.textContent = isShare ? "%" : "a day";
    preview.textContent = page.preview(names.value, wanted(), moves);
  };
  show(false);
  return card("Following a target", Boolean(active), "The threshold moves with the model, so that the rate stays what you want.", [
    h("div", { class: "row" }, h("div", { class: "field grow" }, h("label", { for: "target-name" }, "Target"), names),
      h("div", { class: "field target-value" }, h("label", { for: "target-value" }, "Value"), h("span", { class: "with-unit" }, value, unit))),
    text, preview], (problem) => [
    h("button", { type: "submit", class: "button primary", onclick: () => change(page, { target: { [names.value]: wanted() } },
      `The threshold follows the ${TARGETS[names.value].title.toLowerCase()} of ${value.value}${unit.textContent === "%" ? "%" : " a day"}. `
      + preview.textContent, problem) }, "Follow it"),
    active && button("End the target", () => change(page, { target: null },
      "The threshold is learnt for its objective again.", problem), { kind: "" }),
  ]);
}

const plain = (value) => String(Math.round(1e6 * value) / 1e6);
