// Bulk: items that look alike are labelled together, in one act that one undo takes back.

import { context, newId } from "../core/api.js";
import { byId, button, empty, fail, fill, h, toast } from "../core/dom.js";
import { count } from "../core/format.js";
import { showQueueCount } from "../core/shell.js";
import { asModerator, moderator } from "../core/who.js";
import { Day } from "../review/day.js";
import { groupCard, singleRow } from "../review/group-card.js";
import { groupsOf } from "../review/groups.js";
import { keyOf, listen } from "../review/keys.js";
import { Leases } from "../review/leases.js";
import { Outbox } from "../review/outbox.js";
import { KINDS, refusal, waiting as waitingText } from "../review/words.js";

const MOST = 100; // items that one person may hold
const SINGLES = 20; // that are shown at once

const me = moderator();
const day = new Day(me);
const leases = new Leases(leaseLost);
const outbox = new Outbox(me, { done, failed, changed });
const acts = []; // what was labelled together: {id, kind, items, ids, state}
const unwanted = new Set(); // acts that were taken back before they were answered
let items = []; // that are on the page
let waiting = null;
let isAsking = false;
let showsAllSingles = false;

// Showing

function show() {
  const { groups, alone } = groupsOf(items);
  fill(byId("groups"), groups.map((group) => groupCard(group, decide)));
  if (!items.length) fill(byId("groups"), empty("Nothing waits for you", "New items come with “Load more”.", button("Load more", more, { iconName: "refresh" })));
  else if (!groups.length) fill(byId("groups"), empty("No two items look alike", "Decide the ones below, or one by one in Review."));
  byId("alone").hidden = !alone.length;
  const shown = showsAllSingles ? alone : alone.slice(0, SINGLES);
  fill(byId("singles"), shown.map((item) => singleRow(item, decide)),
    shown.length < alone.length && h("li", {}, button(`Show all ${count(alone.length)}`, () => { showsAllSingles = true; show(); }, { kind: "small" })));
  showCounts(groups.length);
}

function showCounts(groups) {
  const number = `${count(items.length)} ${items.length === 1 ? "item" : "items"}`;
  byId("held").textContent = groups ? `${number}, ${count(groups)} ${groups === 1 ? "group" : "groups"}` : number;
  showToday();
}

function showToday() {
  byId("today").textContent = `${count(day.total)} decided today`;
  if (waiting !== null) showQueueCount(waiting + items.length);
  byId("undo").disabled = !acts.length;
}

function state(text) {
  byId("state").textContent = text;
}

const labels = (number) => (number === 1 ? "1 label" : `${count(number)} labels`);

// Deciding

function decide(kind, chosen, place) {
  if (!chosen.length) return;
  const { label } = KINDS[kind];
  const who = asModerator();
  const sent = chosen.map((item) => ({ prediction_id: item.prediction_id, label, feedback_id: newId(), ...who }));
  const act = { id: newId(), kind, items: chosen, ids: sent.map((each) => each.feedback_id), state: "waiting", held: new Map() };
  for (const item of chosen) act.held.set(item.prediction_id, leases.take(item.prediction_id));
  acts.push(act);
  day.add(kind, chosen.length);
  const following = place.nextElementSibling ?? place.previousElementSibling;
  const left = new Set(chosen);
  items = items.filter((each) => !left.has(each));
  if (place.matches(".group") && place.querySelectorAll("input:checked").length !== place.querySelectorAll("input").length) show();
  else place.remove();
  outbox.add({ id: act.id, kind: "labels", items: sent });
  state(`${labels(chosen.length)} ${KINDS[kind].said}: being sent …`);
  if (!byId("groups").children.length) show();
  else showCounts(byId("groups").querySelectorAll(".group").length);
  if (following?.isConnected) following.focus({ preventScroll: false });
  if (!items.length) more();
}

function undo() {
  const act = acts.pop();
  if (!act) return;
  if (outbox.cancel(act.id)) {
    for (const [id, held] of act.held) if (held) leases.keep(id, held);
    back(act, act.items);
  } else if (act.state === "waiting") {
    unwanted.add(act.id); // it is taken back as soon as it is known which labels were stored
    back(act, act.items);
  } else {
    takeBack(act);
    back(act, act.items.filter((each) => !act.refused.has(each.prediction_id)));
  }
}

function takeBack(act) {
  if (act.ids.length) outbox.add({ kind: "retract", ids: act.ids, who: asModerator("by") });
}

function back(act, some) {
  day.add(act.kind, -some.length);
  items = [...some, ...items];
  show();
  state(`Taken back: ${labels(some.length)}`);
  const place = [...document.querySelectorAll(".group")].find((each) => each.chosen().includes(some[0]));
  place?.focus();
}

// What the service says

function done(entry, answer) {
  if (entry.kind !== "labels") return;
  const refused = new Map();
  answer.results.forEach((each, place) => {
    if (each.error) refused.set(entry.items[place].prediction_id, each.error);
  });
  const stored = entry.items.filter((each) => !refused.has(each.prediction_id));
  const act = acts.find((each) => each.id === entry.id) ?? null;
  const version = Math.max(...answer.results.map((each) => each.version ?? 0));
  if (act) {
    Object.assign(act, { state: "stored", ids: stored.map((each) => each.feedback_id), refused });
    if (refused.size) day.add(act.kind, -refused.size);
    state(`${labels(stored.length)} ${KINDS[act.kind].said} · version ${count(version)}`);
  } else {
    finishUnwanted(entry, stored);
  }
  if (refused.size) toast(problemsOf(refused, entry.items.length), { kind: "bad", seconds: 0 });
}

/** An act that was taken back meanwhile, or that an earlier page had sent. */
function finishUnwanted(entry, stored) {
  const ids = stored.map((each) => each.feedback_id);
  const kind = entry.items[0].label === 1 ? "anomaly" : "normal";
  if (unwanted.has(entry.id)) takeBack({ ids });
  else toast(`${labels(ids.length)} ${KINDS[kind].said}, from before this page was opened, are stored now.`,
    { action: { text: "Take back", run: () => { day.add(kind, -ids.length); takeBack({ ids }); } }, seconds: 0 });
}

function problemsOf(refused, all) {
  const details = [...new Set([...refused.values()].map((each) => refusal({ type: each.type.replace("/problems/", ""), message: each.detail })))];
  return `${count(refused.size)} of ${count(all)} could not be labelled: ${details.slice(0, 2).join(" ")}`;
}

function failed(entry, error) {
  const act = acts.find((each) => each.id === entry.id);
  if (act) {
    acts.splice(acts.indexOf(act), 1);
    back(act, act.items);
  }
  if (error.type !== "unknown-label") toast(refusal(error, entry.kind === "labels" ? labels(entry.items.length) : ""), { kind: "bad", seconds: 12 });
  state("");
}

function changed(box, error) {
  const place = byId("connection");
  place.hidden = !error;
  if (error) place.textContent = waitingText(error, box.unsent);
  showToday();
}

function leaseLost(id) {
  items = items.filter((each) => each.prediction_id !== id);
  byId("notice").hidden = false;
  byId("notice").textContent = "Your time with some items has run out. “Load more” fetches what waits.";
}

// Items

async function more() {
  if (isAsking) return;
  if (items.length >= MOST) {
    toast(`You hold ${MOST} items, which is the limit. Label some first.`);
    return;
  }
  isAsking = true;
  byId("more").disabled = true;
  try {
    const found = await leases.more(MOST - items.length, 0);
    waiting = found.waiting;
    const known = new Set([...items, ...acts.flatMap((each) => each.items)].map((each) => each.prediction_id));
    items = [...items, ...found.items.filter((each) => !known.has(each.prediction_id))];
    byId("notice").hidden = true;
    show();
  } catch (error) {
    if (!items.length) fill(byId("groups"), empty("The queue cannot be read", error.message, button("Try again", more, { iconName: "refresh" })));
    else fail(error);
  } finally {
    isAsking = false;
    byId("more").disabled = false;
  }
}

// The page

function move(by) {
  const cards = [...document.querySelectorAll(".group, .single")];
  const at = cards.indexOf(document.activeElement?.closest(".group, .single"));
  cards[Math.min(Math.max(at + by, 0), cards.length - 1)]?.focus();
}

listen((action) => {
  const place = document.activeElement?.closest(".group, .single");
  if (action === "undo") undo();
  else if (place && (action === "anomaly" || action === "normal")) decide(action, place.chosen(), place);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog")) return;
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  move(event.key === "ArrowDown" ? 1 : -1);
});
byId("undo").querySelector("kbd").textContent = keyOf("undo");
for (const each of document.querySelectorAll("[data-shows]")) each.textContent = keyOf(each.dataset.shows);
byId("undo").addEventListener("click", undo);
byId("more").addEventListener("click", more);
addEventListener("beforeunload", (event) => {
  if (outbox.unsent && !context.isSignedOut) event.preventDefault();
});
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
document.addEventListener("moderator", () => location.reload());
showToday();
outbox.adopt();
more();
