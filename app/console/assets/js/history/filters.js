// The filters of the history. They are kept in the address of the page, so that a link can be shared.

import { byId } from "../core/dom.js";
import { iso } from "../core/format.js";

const PREDICTION_ID = /^[0-9a-f]{12}-[0-9]{1,15}-[0-9a-f]{1,8}-[0-9a-f]{1,8}$/;
const STATES = {
  standing: { retracted: "false" },
  back: { retracted: "true" },
  disagreements: { disagreements: "true" },
};
const SHARED = ["moderator", "key_id", "label", "state", "since", "until", "id"];

/** The filters in the address. */
export function fromAddress() {
  const query = new URLSearchParams(location.search);
  return Object.fromEntries(SHARED.map((name) => [name, query.get(name) || ""]));
}

/** Put filters into the address, together with the label that is open. */
export function toAddress(filters, open) {
  const query = new URLSearchParams();
  for (const name of SHARED) if (filters[name]) query.set(name, filters[name]);
  if (open) query.set("open", open);
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
}

/** The filters as the API takes them. */
export function toQuery({ moderator, key_id, label, state, since, until, id }) {
  const named = id ? { [PREDICTION_ID.test(id) ? "prediction_id" : "feedback_id"]: id } : {};
  return { moderator, key_id, label, since, until, ...named, ...STATES[state] };
}

export function toForm(filters) {
  for (const name of ["moderator", "key_id", "label", "state", "id"]) byId(`filter-${name}`).value = filters[name];
  for (const name of ["since", "until"]) byId(`filter-${name}`).value = localTime(filters[name]);
}

export function fromForm() {
  const found = {};
  for (const name of ["moderator", "key_id", "label", "state", "id"]) found[name] = byId(`filter-${name}`).value.trim();
  for (const name of ["since", "until"]) found[name] = fromLocalTime(byId(`filter-${name}`).value);
  return found;
}

export const isEmpty = (filters) => SHARED.every((name) => !filters[name]);

/** A time as a field of the browser shows it: in the zone of the reader. */
export function localTime(text) {
  const time = text ? new Date(text) : null;
  if (!time || Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - 60_000 * time.getTimezoneOffset()).toISOString().slice(0, 16);
}

export function fromLocalTime(value) {
  const time = value ? new Date(value).getTime() : NaN;
  return Number.isNaN(time) ? "" : iso(time).replace(".000Z", "Z");
}
