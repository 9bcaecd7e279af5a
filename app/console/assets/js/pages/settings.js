// Settings: what every setting of the tenant means and has, changed in place.

import { context, get, put, tenantPath } from "../core/api.js";
import { button, byId, dialog, empty, fail, fill, h, toast } from "../core/dom.js";
import { danger, deletedOnes } from "../settings/danger.js";
import { shownValue } from "../settings/fields.js";
import { formOf } from "../settings/form.js";
import { effectOf, titleOf } from "../settings/names.js";
import { policyOf } from "../settings/policy.js";

const place = byId("content");
const isAdmin = context.roles.has("admin");
let form = null;
let known = null;

async function load() {
  try {
    const [tenant, curve] = await Promise.all([get(tenantPath()), get(tenantPath("/curve"), { points: 2 }),
      known ?? get("/settings").then((found) => { known = found; })]);
    show(tenant, curve);
  } catch (error) {
    if (error.status === 404 && error.type === "unknown-tenant") showMissing(error);
    else { fill(place, empty("The settings cannot be shown", error.message, button("Try again", load))); fail(error); }
  }
}

function show(tenant, curve) {
  const policy = policyOf(curve.now?.flagged.value ?? null);
  const count = h("strong");
  const bar = h("div", { class: "save-bar", role: "region", "aria-label": "Changes", hidden: true }, count, h("span", { class: "spacer" }),
    button("Discard", () => form.reset()), button("Look through and save", () => save(bar), { kind: "primary" }),
    h("p", { class: "problem", role: "alert", hidden: true }));
  form = formOf({
    known, config: tenant.config, isAdmin,
    extras: { review: policy.element, threshold: h("p", { class: "small" }, h("a", { href: `${context.root}${tenantPath("/threshold")}` },
      "See on the curve what a threshold does, before it is set")) },
    onChange() {
      const number = Object.keys(form.changes()).length;
      bar.hidden = !number;
      document.body.classList.toggle("has-changes", number > 0);
      count.textContent = number === 1 ? "1 change" : `${number} changes`;
      bar.lastChild.hidden = true;
      policy.show(form.value);
    },
  });
  policy.show(form.value);
  fill(place, !isAdmin && h("p", { class: "muted" }, "You can look, but not change anything."), form.element,
    isAdmin && danger({ onDeleted: load }), bar);
}

async function save(bar) {
  const changes = form.changes();
  const names = Object.keys(changes);
  const isSure = await dialog("Save these changes?", (close) => h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); close(true); } },
    h("ul", { class: "summary" }, names.map((name) => h("li", {},
      h("strong", {}, titleOf(name)), h("p", {}, shownValue(form.original(name)), " → ", h("b", {}, shownValue(changes[name]))),
      effectOf(name, changes[name]) && h("p", { class: "muted small" }, effectOf(name, changes[name]))))),
    h("p", { class: "muted small" }, "A change is an event in the log: the next labels are learnt with it. Past verdicts stay as they were."),
    h("footer", {}, button("Cancel", () => close()),
      h("button", { type: "submit", class: "button primary" }, names.length === 1 ? "Save the change" : `Save ${names.length} changes`))));
  if (!isSure) return;
  try {
    await put(tenantPath(), changes);
    document.body.classList.remove("has-changes");
    await load();
    toast(names.length === 1 ? `${titleOf(names[0])} is saved.` : `${names.length} settings are saved.`);
  } catch (error) {
    if (error.status === 422 && form.refuse(error.message)) return;
    const problem = bar.lastChild;
    problem.textContent = error.message;
    problem.hidden = false;
  }
}

async function showMissing(error) {
  fill(place, empty("No such tenant", error.message, isAdmin && button("Create it with the usual settings", async () => {
    try {
      await put(tenantPath(), {});
      await load();
    } catch (problem) {
      fail(problem);
    }
  })));
  if (!isAdmin) return;
  try {
    const list = await deletedOnes({ onRestored: load });
    if (list) place.append(list);
  } catch (problem) {
    fail(problem);
  }
}

window.addEventListener("beforeunload", (event) => {
  if (form && Object.keys(form.changes()).length) event.preventDefault();
});
load();
