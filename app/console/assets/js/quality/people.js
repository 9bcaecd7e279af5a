// The people: those who are pointed out, all of them with their figures, and each two of them.

import { context } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { count, percent } from "../core/format.js";
import { visible } from "../core/text.js";
import { interval, number, verdict } from "./kappa.js";

const IN_MATRIX = 12;
const FEW = 10; // pairs

const id = (person) => (person.moderator !== null ? `m ${person.moderator}` : `k ${person.key_id}`);

export function name(person) {
  return person.moderator !== null ? h("bdi", {}, visible(person.moderator)) : h("span", { class: "mono" }, `key ${person.key_id}`);
}

function history(person, more = {}) {
  const query = new URLSearchParams(person.moderator !== null ? { moderator: person.moderator } : { key_id: person.key_id });
  for (const [key, value] of Object.entries(more)) query.set(key, value);
  return `${context.root}/tenants/${encodeURIComponent(context.tenant)}/history?${query}`;
}

function title({ kind, hits, trials, other_hits, other_trials }) {
  if (kind === "second") return "disagrees more often than others in blind reviews";
  if (kind === "overturned") return "is overturned more often than others";
  return `contradicts the verdicts ${hits / trials > other_hits / other_trials ? "more" : "less"} often than others`;
}

/** Those whose labels differ significantly, with the numbers and a link to their labels. */
export function pointedOut(found, since) {
  if (found.differences.length === 0) {
    return h("p", { class: "calm" }, icon(found.differences_unknown ? "question" : "check"), found.differences_unknown
      ? `Nobody can be compared: ${found.differences_unknown}.`
      : "Nobody’s labels differ significantly from those of the others.");
  }
  return found.differences.map((each) => h("article", { class: "card pointed" }, icon("warning"),
    h("div", {}, h("h2", {}, name(each), ` ${title(each)}`), h("p", {}, each.detail)),
    h("a", { class: "button small", href: history(each, since ? { since } : {}) }, "Their labels")));
}

/** A row for each person. */
export function rows(found) {
  const most = Math.max(...found.moderators.map((each) => each.labels), 1);
  const pointed = new Set(found.differences.map(id));
  return found.moderators.map((each) => h("tr", {},
    h("th", { scope: "row" }, h("a", { href: history(each) }, name(each)),
      pointed.has(id(each)) && h("span", { class: "flag", title: "Pointed out above" }, icon("warning"), h("span", { class: "visually-hidden" }, "pointed out above"))),
    h("td", { class: "number" }, count(each.labels),
      h("span", { class: "share", "aria-hidden": "true" }, h("i", { style: { width: `${(100 * each.labels) / most}%` } }))),
    h("td", { class: "number" }, percent(each.anomalies, 0)),
    h("td", { class: "number" }, percent(each.served_agreement, 0), h("span", { class: "muted small of" }, ` of ${count(each.served)}`)),
    h("td", { class: "number" }, count(each.overturned_by_others),
      h("span", { class: "muted small of" }, ` of ${count(each.replaced_by_others)} replaced`)),
    h("td", { class: "number" }, count(each.taken_back)),
    h("td", { class: "number" }, agreement(each.kappa), h("span", { class: "muted small of" }, each.kappa.pairs ? ` of ${count(each.kappa.pairs)}` : ""))));
}

// Kappa of a few pairs says nothing: then it is shown how many of them agree.
function agreement(kappa) {
  if (kappa.pairs === 0) return h("span", { class: "muted", title: kappa.reason }, "–");
  if (kappa.pairs < FEW || kappa.value === null) return h("span", { title: `${kappa.reason || `kappa ${number(kappa.value)}`}` }, `${Math.round(kappa.agreement * kappa.pairs)} same`);
  return h("strong", { title: interval(kappa) }, number(kappa.value));
}

/** Each two people, as a table of kappas. */
export function matrix(found) {
  const people = new Map();
  for (const pair of found.pairs) for (const each of [pair.first, pair.second]) people.set(id(each), each);
  const order = found.moderators.map(id).filter((each) => people.has(each));
  const shown = [...order, ...[...people.keys()].filter((each) => !order.includes(each))].slice(0, IN_MATRIX);
  const cells = new Map(found.pairs.flatMap((pair) => [[`${id(pair.first)}\n${id(pair.second)}`, pair], [`${id(pair.second)}\n${id(pair.first)}`, pair]]));
  if (shown.length < 2) return null;
  return h("table", { class: "matrix" },
    h("caption", { class: "visually-hidden" }, "Kappa of each two people, with the number of predictions that both judged"),
    h("thead", {}, h("tr", {}, h("td", {}), shown.map((each) => h("th", { scope: "col" }, name(people.get(each)))))),
    h("tbody", {}, shown.map((row) => h("tr", {}, h("th", { scope: "row" }, name(people.get(row))),
      shown.map((column) => cell(row === column ? null : cells.get(`${row}\n${column}`), row === column))))));
}

function cell(pair, isSelf) {
  if (isSelf) return h("td", { class: "self" });
  if (!pair) return h("td", { class: "none" }, h("span", { class: "muted" }, "·"), h("span", { class: "visually-hidden" }, "nothing in common"));
  const { kappa } = pair;
  const { word, kind } = verdict(kappa);
  const about = `${word}; ${count(kappa.pairs)} judged by both, ${count(pair.blind)} of them blind`;
  return h("td", { class: `cell ${kind}`.trim(), title: kappa.value === null ? `${about}: ${kappa.reason}` : `${about}; 95% confidence ${interval(kappa)}` },
    agreement(kappa), h("span", { class: "small" }, `of ${count(kappa.pairs)}`));
}
