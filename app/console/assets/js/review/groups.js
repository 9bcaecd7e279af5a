// Items that look alike: URLs of one host or one form of path, e-mails of one sender with one form of subject, and other
// items with nearly the same features. Nothing here touches the page.

import { hostOf } from "./segments.js";

const ALIKE = 0.8; // share of common features
const MOST_FEATURES = 1000; // of an item, that are compared

/** Group items: [{key, kind, title, items}], the largest group first, then those that stand alone in one list. */
export function groupsOf(items) {
  const groups = [];
  let rest = items;
  for (const [kind, keyOf] of [["host", hostKey], ["path", pathKey], ["mail", mailKey]]) {
    const found = collect(rest, keyOf);
    for (const [key, some] of found) groups.push({ key: `${kind} ${key}`, kind, title: key, items: some });
    const taken = new Set([...found.values()].flat());
    rest = rest.filter((each) => !taken.has(each));
  }
  for (const some of alike(rest)) {
    groups.push({ key: `alike ${some[0].prediction_id}`, kind: "alike", title: "", items: some });
    rest = rest.filter((each) => !some.includes(each));
  }
  groups.sort((a, b) => b.items.length - a.items.length || (a.key < b.key ? -1 : 1));
  return { groups, alone: rest };
}

/** Items by key; only keys that several items have. */
function collect(items, keyOf) {
  const found = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (key) found.set(key, [...(found.get(key) || []), item]);
  }
  for (const [key, some] of found) if (some.length < 2) found.delete(key);
  return found;
}

/** The host of a URL, with numbers in its subdomains left open. */
export function hostKey(item) {
  if (item.input?.kind !== "url") return null;
  const place = hostOf(item.input.url);
  if (!place) return null;
  const host = item.input.url.slice(place.start, place.end).toLowerCase().replace(/\.$/, "");
  if (/^[\d.]+$/.test(host) || host.startsWith("[")) return host;
  const labels = host.split(".");
  return [...labels.slice(0, -2).map((each) => each.replace(/\d+/g, "#")), ...labels.slice(-2)].join(".");
}

/** The form of a URL's path, if it says enough: numbers and long identifiers are left open, of the query only names count. */
export function pathKey(item) {
  if (item.input?.kind !== "url") return null;
  const place = hostOf(item.input.url);
  const [before, query = ""] = item.input.url.slice(place?.end ?? 0).replace(/^:\d+/, "").split("#")[0].split(/\?(.*)/s);
  const parts = before.split("/").filter(Boolean).map(formOf);
  const names = [...new Set(query.split("&").map((each) => formOf(each.split("=")[0])).filter(Boolean))];
  const words = [...parts, ...names].filter((each) => /[a-z]{3}/i.test(each));
  if (words.length < 2) return null;
  return `/${parts.join("/")}${names.length ? `?${names.join("&")}` : ""}`;
}

/** The domain of the sender and the form of the subject. */
export function mailKey(item) {
  if (item.input?.kind !== "email") return null;
  const { from = "", subject = "" } = item.input.parts;
  const domain = /@([^\s>@"]+)[>\s)]*[^@]*$/.exec(from.toLowerCase())?.[1] ?? "";
  const form = subject.toLowerCase().replace(/^((re|fwd?|aw|wg)\s*:\s*)+/, "").replace(/[0-9a-f]*\d[0-9a-f]*/g, "#").replace(/\s+/g, " ").trim();
  return domain && form ? `${domain}: ${form}` : null;
}

const formOf = (part) => {
  const text = part.toLowerCase().slice(0, 80);
  if (/^[0-9a-f-]{8,}$/.test(text) && /\d/.test(text)) return "*";
  if (text.length > 24 && /\d/.test(text)) return "*";
  return text.replace(/\d+/g, "#");
};

/** Groups of items with nearly the same features. */
function alike(items) {
  const groups = [];
  for (const item of items) {
    const features = featuresOf(item);
    if (!features.size) continue;
    const found = groups.find((each) => each.kind === item.input?.kind && similarity(each.features, features) >= ALIKE);
    if (found) found.items.push(item);
    else groups.push({ kind: item.input?.kind, features, items: [item] });
  }
  return groups.map((each) => each.items).filter((some) => some.length > 1);
}

const featuresOf = (item) => new Map(Object.entries(item.features ?? {}).slice(0, MOST_FEATURES));

/** The share of features that both have, of all that either has; one with different values counts in part. */
export function similarity(some, others) {
  const [few, many] = some.size < others.size ? [some, others] : [others, some];
  if (!many.size) return 0;
  let common = 0;
  let shares = 0;
  for (const [name, value] of few) {
    const other = many.get(name);
    if (other === undefined) continue;
    common += 1;
    const [low, high] = [Math.abs(value), Math.abs(other)].sort((a, b) => a - b);
    if (value * other > 0) shares += low / high;
    else if (value === other) shares += 1;
  }
  return shares / (few.size + many.size - common);
}
