// What an administrator can do with a whole tenant: snapshot, export, delete, restore.

import { context, get, post, request, tenantPath } from "../core/api.js";
import { button, dialog, fail, h, toast } from "../core/dom.js";
import { ago, bytes, count, duration, time } from "../core/format.js";

export function danger({ onDeleted }) {
  const note = h("p", { class: "muted small", role: "status" });
  return h("section", { class: "card group danger", "aria-labelledby": "whole-title" },
    h("div", { class: "group-head" }, h("h2", { id: "whole-title" }, "The whole tenant"),
      h("p", { class: "muted" }, "Only administrators see this. Every act is noted in the audit.")),
    act("Snapshot", "Write the state to the store now, so that the next start is faster. The service takes snapshots by itself, too.",
      button("Take a snapshot", (event) => once(event, takeSnapshot))),
    act("Export", "One file, which can be imported on any machine. With the log it also has who labelled what.",
      button("Export the model", (event) => once(event, () => download(false, note)), { iconName: "download" }),
      button("Export with the log", (event) => once(event, () => download(true, note)), { iconName: "download" }), note),
    act("Delete", "Its model, its settings and its log go away for everybody. For some time it can be restored, without kept predictions.",
      button("Delete this tenant", () => deleteTenant(onDeleted), { kind: "danger", iconName: "trash" })));
}

const act = (title, text, ...buttons) => h("div", { class: "setting act" },
  h("div", { class: "about" }, h("span", { class: "label" }, title), h("p", { class: "muted small" }, text)),
  h("div", { class: "buttons" }, buttons));

async function once(event, run) {
  const pressed = event.currentTarget;
  pressed.disabled = true;
  try {
    await run();
  } catch (error) {
    fail(error);
  } finally {
    pressed.disabled = false;
  }
}

async function takeSnapshot() {
  const taken = await post(tenantPath("/snapshot"));
  toast(`Snapshot of version ${count(taken.version)}: ${bytes(taken.bytes)}, ${count(taken.written)} of ${count(taken.chunks)} chunks were new.`);
}

async function download(hasLog, note) {
  note.textContent = "The file is on its way …";
  try {
    const path = `${context.api}${tenantPath("/export")}?log=${hasLog}`;
    const answer = await fetch(path, { credentials: "same-origin", headers: { "x-requested-by": "console" } });
    if (!answer.ok) throw new Error((await answer.json()).detail);
    const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? `${context.tenant}.sluice`;
    const file = await answer.blob();
    const address = URL.createObjectURL(file);
    const link = h("a", { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    note.textContent = `${name}, ${bytes(file.size)}`;
  } catch (error) {
    note.textContent = "";
    throw error;
  }
}

async function deleteTenant(onDeleted) {
  const purge = await dialog("Delete this tenant", (close) => {
    const field = h("input", { id: "delete-name", autocomplete: "off", spellcheck: "false", oninput: () => { go.disabled = field.value !== context.tenant; } });
    const forGood = h("input", { type: "checkbox", id: "delete-purge" });
    const go = h("button", { type: "submit", class: "button danger", disabled: true }, "Delete it");
    return h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); if (!go.disabled) close(forGood.checked); } },
      h("p", {}, "Its model, its settings, its log and its kept predictions are deleted on every server. Clients that still send "
        + "predictions or labels may create it again."),
      h("label", { for: "delete-name" }, "Type its name, ", h("bdi", {}, context.tenant), ", to go on"), field,
      h("label", { class: "check" }, forGood, "For good: neither it nor an earlier one of this name can be restored"),
      h("footer", {}, button("Cancel", () => close()), go));
  });
  if (purge === undefined) return;
  try {
    await request("DELETE", tenantPath(), { query: { purge } });
    toast(purge ? "The tenant is deleted for good." : "The tenant is deleted. It can be restored here.");
    onDeleted();
  } catch (error) {
    fail(error);
  }
}

/** Return the deleted tenants of this name that can be restored; nothing if there are none. */
export async function deletedOnes({ onRestored }) {
  const { deleted } = await get(`/deleted/${encodeURIComponent(context.tenant)}`);
  if (!deleted.length) return null;
  return h("section", { class: "card group", "aria-labelledby": "deleted-title" },
    h("div", { class: "group-head" }, h("h2", { id: "deleted-title" }, "Deleted, and still restorable")),
    deleted.map((each) => h("div", { class: "setting act" },
      h("div", { class: "about" }, h("span", { class: "label" }, `Deleted ${ago(each.at)}`),
        h("p", { class: "muted small" }, `${time(each.at)}, at version ${count(each.version)}. It can be restored for another `
          + `${duration((each.until - Date.now()) / 1000)}.`)),
      h("div", { class: "buttons" }, button("Restore", async () => {
        try {
          await request("POST", `/deleted/${encodeURIComponent(context.tenant)}/restore`, { query: { id: each.id } });
          toast("The tenant is restored.");
          onRestored();
        } catch (error) {
          fail(error);
        }
      }, { iconName: "undo" })))));
}
