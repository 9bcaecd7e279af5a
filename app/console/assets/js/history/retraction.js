// Taking labels back: always the dry run first, then a reason, then the rebuilding with its progress.

import { context, get, post, tenantPath } from "../core/api.js";
import { button, dialog, fail, fill, h, labelBadge, toast } from "../core/dom.js";
import { count, percent, time } from "../core/format.js";
import { visible } from "../core/text.js";
import { asModerator } from "../core/who.js";
import { accuracyText } from "./reasons.js";
import { person } from "./words.js";

const LISTED = 20;

/** Show what would happen, ask, and do it. Resolves with the answer, or undefined if nothing was done. */
export async function takeBack(wanted, title) {
  let preview;
  const working = toast("Working out what that would do …", { seconds: 0 });
  try {
    preview = await post(tenantPath("/retract"), { ...wanted, dry_run: true });
  } catch (error) {
    explain(error);
    return undefined;
  } finally {
    working.remove();
  }
  if (preview.retracted === 0) {
    toast(preview.already_retracted > 0
      ? `All ${count(preview.already_retracted)} of these labels were taken back before.`
      : "No label fits, so there is nothing to take back.");
    return undefined;
  }
  return dialog(title, (close) => form(wanted, preview, close), { wide: true });
}

function form(wanted, preview, close) {
  const reason = h("input", { id: "reason", required: true, maxlength: 500, autocomplete: "off", autofocus: true,
    placeholder: "Such as: wrong key pressed" });
  const progress = h("progress", { max: 1, "aria-label": "Rebuilding the model" });
  const status = h("div", { class: "rebuild", hidden: true, role: "status" }, h("span", {}, "Rebuilding the model …"), progress);
  const cancel = button("Cancel", () => close());
  const confirm = h("button", { type: "submit", class: "button danger" }, `Take back ${labels(preview.retracted)}`);
  const submit = async (event) => {
    event.preventDefault();
    for (const each of [reason, cancel, confirm]) each.disabled = true;
    status.hidden = false;
    const watch = setInterval(() => showProgress(progress), 400);
    try {
      const done = await post(tenantPath("/retract"), { ...wanted, ...asModerator("by"), reason: reason.value.trim() });
      toast(`${labels(done.retracted)} taken back. Balanced accuracy: ${accuracyText(done.before)} before, ${accuracyText(done.after)} after.`,
        { seconds: 12 });
      close(done);
    } catch (error) {
      explain(error);
      for (const each of [reason, cancel, confirm]) each.disabled = false;
      status.hidden = true;
    } finally {
      clearInterval(watch);
    }
  };
  return h("form", { method: "dialog", class: "retraction", onsubmit: submit },
    h("p", {}, "This is a dry run: nothing has changed yet. Afterwards the model is as if these labels had never been given."),
    h("div", { class: "effect" },
      stat(count(preview.retracted), preview.retracted === 1 ? "label taken back" : "labels taken back", extra(preview)),
      stat(change(preview.before, preview.after), "balanced accuracy, before → after",
        `sensitivity ${percent(preview.before.sensitivity)} → ${percent(preview.after.sensitivity)}, specificity ${percent(preview.before.specificity)} → ${percent(preview.after.specificity)}`)),
    listed(preview),
    h("div", { class: "field" }, h("label", { for: "reason" }, "Reason, which is stored with the labels"), reason),
    status,
    h("footer", {}, cancel, confirm));
}

const labels = (number) => `${count(number)} ${number === 1 ? "label" : "labels"}`;
const change = (before, after) => `${accuracyText(before)} → ${accuracyText(after)}`;
const stat = (value, label, note) => h("div", { class: "stat" },
  h("div", { class: "value" }, value), h("div", { class: "label" }, label), note && h("div", { class: "note" }, note));

function extra({ restored, already_retracted }) {
  const parts = [];
  if (restored > 0) parts.push(`${labels(restored)} that these replaced will stand again`);
  if (already_retracted > 0) parts.push(`${labels(already_retracted)} were taken back before`);
  return parts.join("; ");
}

function listed(preview) {
  const shown = preview.labels.slice(0, LISTED);
  const more = preview.retracted - shown.length;
  return h("div", { class: "table-frame listed", tabindex: "0", role: "region", "aria-label": "The first labels" },
    h("table", {}, h("thead", {}, h("tr", {}, ["Label", "Given", "By", "Id"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, shown.map((label) => h("tr", {}, h("td", {}, labelBadge(label.label)), h("td", {}, time(label.at)),
        h("td", {}, person(label.moderator, label.key_id)),
        h("td", { class: "mono small" }, visible(label.feedback_id || label.prediction_id || "–"))))),
      more > 0 && h("tfoot", {}, h("tr", {}, h("td", { colspan: 4, class: "muted" }, `and ${count(more)} more`)))));
}

async function showProgress(progress) {
  try {
    const { rebuilding } = await get(tenantPath());
    if (rebuilding === null) progress.removeAttribute("value");
    else progress.value = rebuilding;
  } catch {
    // The request that does the work reports what is wrong.
  }
}

function explain(error) {
  const isOthers = error.status === 403 && !context.roles.has("admin") && error.type === "forbidden";
  if (!isOthers) {
    fail(error);
    return;
  }
  toast("Some of these labels were given with another key. Yours can take back what was given with itself; an "
    + "administrator can take back the others.", { kind: "bad", seconds: 15 });
}

/** Ask for a moderator or a key, and a time; resolves with what POST /retract takes. */
export function askWhose(filters, { localTime, fromLocalTime }) {
  return dialog("Take back the labels of a moderator or a key", (close) => {
    const isKey = Boolean(filters.key_id && !filters.moderator);
    const kind = h("select", { id: "whose-kind" }, h("option", { value: "moderator" }, "Moderator"), h("option", { value: "key_id" }, "Key"));
    kind.value = isKey ? "key_id" : "moderator";
    const name = h("input", { id: "whose-name", required: true, maxlength: 200, autocomplete: "off", spellcheck: "false",
      list: "moderators", value: isKey ? filters.key_id : filters.moderator });
    const since = h("input", { id: "whose-since", type: "datetime-local", value: localTime(filters.since) });
    const until = h("input", { id: "whose-until", type: "datetime-local", value: localTime(filters.until) });
    const field = (label, input) => h("div", { class: "field" }, h("label", { for: input.id }, label), input);
    const problem = h("p", { class: "muted small" },
      context.roles.has("admin") ? "Without times, all of their labels are meant."
        : "Your key can take back only labels that were given with it. An administrator can take back the others.");
    const submit = (event) => {
      event.preventDefault();
      const wanted = { [kind.value]: name.value.trim() };
      if (since.value) wanted.since = fromLocalTime(since.value);
      if (until.value) wanted.until = fromLocalTime(until.value);
      close(wanted);
    };
    const form = h("form", { method: "dialog", onsubmit: submit });
    return fill(form, h("div", { class: "pair" }, field("Whose", kind), field("Name or id", name)),
      h("div", { class: "pair" }, field("Given from", since), field("Given before", until)), problem,
      h("footer", {}, button("Cancel", () => close()), h("button", { type: "submit", class: "button primary" }, "Dry run")));
  });
}
