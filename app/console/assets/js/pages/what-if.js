// What if: other settings over the kept log, beside the tenant's own, and what would flip.

import { Problem, context, get, post, put, tenantPath } from "../core/api.js";
import { button, byId, dialog, empty, fail, fill, h, toast } from "../core/dom.js";
import { shownValue } from "../settings/fields.js";
import { effectOf, titleOf } from "../settings/names.js";
import { flipsOf } from "../what-if/flips.js";
import { formOf } from "../what-if/form.js";
import { matrixOf, ratesOf, summaryOf } from "../what-if/result.js";

const FLIPS = 500;
const ADDRESS = "ask"; // where the address of the page has what was asked, so that it can be passed on
const place = byId("content");
const result = h("div", { class: "stack", id: "result" });
let form = null;
let running = new AbortController();

async function load() {
  try {
    const [tenant, known] = await Promise.all([get(tenantPath()), get("/settings")]);
    form = formOf({ known, config: tenant.config, asked: askedBefore(), onRun: () => run(tenant) });
    fill(result, h("div", { class: "card resting" }, h("p", { class: "muted" }, "Change a setting, or name another tenant's model. What would have been different appears here.")));
    fill(place, form.element, result);
  } catch (error) {
    fill(place, empty(error.status === 404 ? "No such tenant" : "This cannot be shown", error.message));
    if (error.status !== 404) fail(error);
  }
}

function askedBefore() {
  try {
    return JSON.parse(new URLSearchParams(location.search).get(ADDRESS) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

async function run(tenant) {
  const asked = form.asked();
  running.abort();
  running = new AbortController();
  const { signal } = running;
  history.replaceState(null, "", `${location.pathname}?${new URLSearchParams({ [ADDRESS]: JSON.stringify(asked) })}`);
  const stop = waiting(signal);
  form.run.disabled = true;
  try {
    const found = await post(tenantPath("/whatif"), { ...asked, flips: FLIPS }, { signal });
    show(found, asked, tenant, signal);
  } catch (error) {
    if (error.name === "AbortError") {
      if (running.signal === signal) fill(result, h("p", { class: "muted" }, "Stopped."));
      return;
    }
    fill(result);
    if (error instanceof Problem && error.status && error.status < 500) form.refuse(error.message);
    else fail(error);
  } finally {
    stop();
    if (running.signal === signal) form.run.disabled = false;
  }
}

/** Show that the comparison goes on; return what ends that. */
function waiting(signal) {
  const since = performance.now();
  const seconds = h("span", { class: "muted number" });
  const tick = () => { seconds.textContent = `${Math.floor((performance.now() - since) / 1000)} s`; };
  tick();
  const timer = setInterval(tick, 500);
  fill(result, h("div", { class: "card progress" }, h("p", { role: "status" }, "Learning the labels again on both sides …"), seconds,
    h("progress", { "aria-label": "The comparison goes on" }), button("Stop", () => { if (!signal.aborted) running.abort(); }, { kind: "small" })));
  result.scrollIntoView({ block: "nearest" });
  return () => clearInterval(timer);
}

function show(found, asked, tenant, signal) {
  const summary = summaryOf(found);
  const isUsable = context.roles.has("admin") && !asked.model_of && Object.keys(asked.settings).length > 0;
  if (isUsable) summary.append(h("div", { class: "row" }, button("Use these settings", () => use(asked.settings, tenant), { kind: "primary" })));
  fill(result, summary,
    h("div", { class: "sides" }, matrixOf("As it is", found.actual), matrixOf(asked.model_of ? `With the model of ${asked.model_of}` : "The other side", found.other, found.actual),
      ratesOf(found)),
    flipsOf(found, signal));
  summary.focus();
}

async function use(settings, tenant) {
  const names = Object.keys(settings);
  const isSure = await dialog("Use these settings?", (close) => h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); close(true); } },
    h("ul", { class: "summary" }, names.map((name) => h("li", {}, h("strong", {}, titleOf(name)), " becomes ", h("b", {}, shownValue(settings[name])),
      effectOf(name, settings[name]) && h("p", { class: "muted small" }, effectOf(name, settings[name]))))),
    h("p", { class: "small" }, "This is the request that is sent:"),
    h("pre", { class: "raw request" }, `PUT ${tenantPath()}\n${JSON.stringify(settings, null, 2)}`),
    settings.algorithm && settings.algorithm !== tenant.config.algorithm && h("p", { class: "notice" },
      "The comparison learnt all kept labels with the other algorithm. The tenant itself begins anew, and learns only the labels that come."),
    h("footer", {}, button("Cancel", () => close()), h("button", { type: "submit", class: "button primary" }, "Use them"))));
  if (!isSure) return;
  try {
    await put(tenantPath(), settings);
    toast("The settings are in force.");
    history.replaceState(null, "", location.pathname);
    await load();
  } catch (error) {
    fail(error);
  }
}

load();
