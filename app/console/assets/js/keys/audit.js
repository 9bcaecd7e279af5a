// The last changes: who did what, with which key, to which tenant.

import { get } from "../core/api.js";
import { byId, empty, fail, fill, h } from "../core/dom.js";
import { time } from "../core/format.js";
import { visible } from "../core/text.js";
import { keyName } from "./words.js";

const PAGE = 30;
const WORDS = {
  create_key: "Asks for a key", key_made: "Creates a key", rotate_key: "Rotates a key", revoke_key: "Asks to revoke a key",
  key_revoked: "Revokes a key", restore_keys: "Restores lost keys", configure_tenant: "Changes a tenant",
  delete_tenant: "Deletes a tenant", restore_tenant: "Restores a tenant", import_tenant: "Imports a model",
  import_model: "Imports a model", retract_labels: "Takes labels back", sign_in: "Signs in", take_snapshot: "Takes a snapshot",
  repair_tenant: "Repairs a tenant",
};
let next = null;

export const actionName = (action) => WORDS[action] || action.replaceAll("_", " ");

/** Show the audit below the keys, whose names it uses. */
export class AuditTable {
  constructor(keys) {
    this.keys = new Map(keys.map((key) => [key.id, key]));
    fill(byId("audit-action"), h("option", { value: "" }, "All changes"),
      Object.keys(WORDS).map((action) => h("option", { value: action }, WORDS[action])));
    let waiting;
    byId("audit-filters").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => this.load(), 300); });
    byId("audit-filters").addEventListener("submit", (event) => { event.preventDefault(); this.load(); });
    byId("audit-more").addEventListener("click", () => this.load(next));
  }

  use(keys) {
    this.keys = new Map(keys.map((key) => [key.id, key]));
    return this.load();
  }

  async load(before) {
    try {
      const found = await get("/audit", { action: byId("audit-action").value, tenant: byId("audit-tenant").value.trim(),
        key_id: byId("audit-key").value.trim(), limit: PAGE, before });
      next = found.next;
      const rows = found.entries.map((entry) => this.row(entry));
      if (before) byId("audit-rows").append(...rows);
      else fill(byId("audit-rows"), rows);
      byId("audit-more").hidden = next === null;
      const isEmpty = byId("audit-rows").children.length === 0;
      byId("audit-table").hidden = isEmpty;
      fill(byId("audit-none"), isEmpty && empty("No change fits", "The audit has changes of tenants and keys, and retractions of labels."));
    } catch (error) {
      fail(error);
    }
  }

  row(entry) {
    const key = this.keys.get(entry.key_id);
    return h("tr", {}, h("td", { class: "when" }, time(entry.at)), h("td", {}, actionName(entry.action)),
      h("td", {}, entry.key_id ? (key ? keyName(key) : h("span", { class: "mono" }, entry.key_id)) : h("span", { class: "muted" }, "without a key")),
      h("td", {}, entry.tenant && h("bdi", {}, entry.tenant)),
      h("td", { class: "detail" }, entry.detail && h("bdi", {}, visible(entry.detail))));
  }
}
