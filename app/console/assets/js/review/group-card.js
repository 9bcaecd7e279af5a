// A group of items that look alike, as a card: what they have in common, some of them, and what to say about all.

import { badge, button, fill, h, icon } from "../core/dom.js";
import { count, signed } from "../core/format.js";
import { cut, defang, visible } from "../core/text.js";
import { titleOf, verdictBadge } from "./item.js";

const SAMPLES = 3;
const WORDS = { host: "Same host", path: "Same form of path", mail: "Same sender and subject", alike: "Nearly the same features" };

/** `decide(kind, items, card)` is called with the items that are chosen. */
export function groupCard(group, decide) {
  const chosen = new Set(group.items);
  const list = h("ul", { class: "members" });
  const actions = h("div", { class: "actions" });
  const heading = h("h2", { class: "group-title" }, h("bdi", {}, titleOfGroup(group)));
  const card = h("article", { class: "card group", tabindex: "-1", "aria-label": `${count(group.items.length)} items: ${titleOfGroup(group)}` });
  let isOpen = false;

  const showActions = () => fill(actions,
    button(`Anomaly · ${chosen.size}`, () => decide("anomaly", [...chosen], card), { kind: "anomaly", disabled: !chosen.size }),
    button(`Normal · ${chosen.size}`, () => decide("normal", [...chosen], card), { kind: "normal", disabled: !chosen.size }));

  const choose = (item, isChosen) => {
    if (isChosen) chosen.add(item);
    else chosen.delete(item);
    showActions();
  };
  const toggle = button("", () => {
    isOpen = !isOpen;
    showMembers();
  }, { kind: "quiet small", "aria-expanded": "false" });
  const showMembers = () => {
    fill(list, group.items.slice(0, isOpen ? undefined : SAMPLES).map((item) => member(item, isOpen && chosen, choose)));
    toggle.firstElementChild.textContent = isOpen ? "Show fewer" : `Show and choose among all ${count(group.items.length)}`;
    toggle.setAttribute("aria-expanded", String(isOpen));
  };

  showMembers();
  showActions();
  fill(card, h("header", {}, heading, badge(count(group.items.length), "accent"), h("span", { class: "muted small" }, WORDS[group.kind])),
    h("p", { class: "small model" }, opinion(group.items)), list, toggle, actions);
  card.chosen = () => [...chosen];
  return card;
}

/** One item, with its own buttons. */
export function singleRow(item, decide) {
  const row = h("li", { class: "single", tabindex: "-1" }, line(item));
  row.append(h("span", { class: "actions" },
    button("Anomaly", () => decide("anomaly", [item], row), { kind: "anomaly small" }),
    button("Normal", () => decide("normal", [item], row), { kind: "normal small" })));
  row.chosen = () => [item];
  return row;
}

function member(item, chosen, choose) {
  if (!chosen) return h("li", {}, line(item));
  const box = h("input", { type: "checkbox", onchange: () => choose(item, box.checked) });
  box.checked = chosen.has(item);
  return h("li", {}, h("label", { class: "choice" }, box, line(item)));
}

function line(item) {
  const score = item.now?.score ?? item.score;
  return h("span", { class: "line" }, h("span", { class: "excerpt" }, excerptOf(item)),
    h("span", { class: `small number ${(item.now?.label ?? item.label) === 1 ? "anomaly-text" : "normal-text"}` }, signed(score)));
}

/** What one line says of an item. */
export function excerptOf(item, most = 160) {
  const { input, features } = item;
  if (input?.kind === "url") return h("bdi", { class: "mono", dir: "ltr" }, cut(defang(input.url), most));
  if (input?.kind === "text") return h("bdi", {}, visible(cut(input.text.slice(0, 2 * most).replace(/\s+/g, " "), most)));
  if (input?.kind === "email") {
    return [icon("mail"), h("bdi", {}, visible(cut(input.parts.subject || input.parts.body?.slice(0, 300).trim() || "(empty e-mail)", 90))),
      h("bdi", { class: "muted" }, visible(cut(input.parts.from || "", 60)))];
  }
  const shown = Object.entries(features ?? {}).slice(0, 6).map(([name, value]) => `${name} ${Number(value.toFixed(3))}`);
  return h("bdi", { class: "mono" }, visible(cut(shown.join(", ") || item.prediction_id, most)));
}

function titleOfGroup({ kind, title, items }) {
  if (kind === "host") return cut(visible(title).replace(/\./g, "[.]"), 100);
  if (kind === "path") return cut(visible(title), 100);
  if (kind === "mail") return cut(visible(items[0].input.parts.subject || "(no subject)"), 100);
  const { input } = items[0];
  if (input) return cut(input.kind === "url" ? defang(input.url) : visible(titleOf(items[0], 100)), 100);
  return cut(visible(inCommon(items).join(", ")) || "Nearly the same features", 100);
}

/** The names of features that all items have, those with the same value first. */
function inCommon(items) {
  const all = items.map((each) => each.features);
  const names = Object.keys(all[0]).filter((name) => all.every((each) => name in each));
  const isSame = (name) => all.every((each) => each[name] === all[0][name]);
  return [...names.filter(isSame), ...names.filter((name) => !isSame(name))].slice(0, 5);
}

function opinion(items) {
  const flagged = items.filter((each) => (each.now?.label ?? each.label) === 1).length;
  const scores = items.map((each) => each.now?.score ?? each.score).filter((each) => each !== null);
  const range = scores.length ? [Math.min(...scores), Math.max(...scores)] : null;
  const verdict = flagged === items.length ? [verdictBadge(1), " all of them"]
    : flagged === 0 ? [verdictBadge(-1), " all of them"]
      : [`${count(flagged)} of ${count(items.length)} `, verdictBadge(1)];
  return ["The model says ", verdict, range && h("span", { class: "muted" }, ` · score ${signed(range[0])}${range[1] - range[0] >= 0.005 ? ` to ${signed(range[1])}` : ""}`)];
}
