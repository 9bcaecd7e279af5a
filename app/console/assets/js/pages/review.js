// Review: one item at a time, one key decides, and the next item is there at once. Decisions go out in the background.

import { context, get, newId, tenantPath } from "../core/api.js";
import { button, byId, fail, h, toast } from "../core/dom.js";
import { count } from "../core/format.js";
import { showQueueCount } from "../core/shell.js";
import { asModerator, moderator } from "../core/who.js";
import { Day } from "../review/day.js";
import { keyOf, listen, showKeys } from "../review/keys.js";
import { Leases } from "../review/leases.js";
import { Outbox } from "../review/outbox.js";
import { Screen, safeTitle } from "../review/screen.js";
import { Trail } from "../review/trail.js";
import { KINDS, refusal, waiting as waitingText } from "../review/words.js";

const AHEAD = 8; // items that are leased and loaded
const REASONS = 10;
const FEW = 5; // with so many left, more are leased
const READY = 3; // items whose elements are built before they are needed
const BOUNCE = 120; // milliseconds after a decision in which another is taken for a bouncing key
const POLL = [2, 3, 5, 8, 12, 15]; // seconds between looks into an empty queue
const THRESHOLD_SECONDS = 30;

const me = moderator();
const day = new Day(me);
const trail = new Trail(me);
const screen = new Screen();
const leases = new Leases(leaseLost);
const outbox = new Outbox(me, { done, failed, changed });
let waitingElsewhere = null; // items of the queue that nobody holds
let decidedAt = -Infinity;
let heldByOthers = 0;
let isAsking = false;
let looks = 0;
let lookAgain = 0;
let lastHint = null;
let hasAnswer = false; // of the queue, since the page was opened

// Showing

function show() {
  const entry = trail.current;
  if (entry) {
    screen.show(entry);
    if (!entry.item && !entry.problem) recall(entry);
  } else if (hasAnswer) {
    showNothing();
  }
  showState();
  soon(() => trail.entries.slice(trail.place, trail.place + READY).forEach((each) => screen.prepare(each)));
}

const soon = (work) => (window.requestIdleCallback ? requestIdleCallback(work, { timeout: 300 }) : setTimeout(work, 20));

function showNothing(problem) {
  const total = day.total;
  screen.showNothing(problem ? "The queue cannot be read" : "Nothing waits for you",
    problem ? problem.message : "New items appear here by themselves.",
    !problem && heldByOthers > 0 && h("p", {}, `${count(heldByOthers)} ${heldByOthers === 1 ? "item is" : "items are"} with other people.`),
    total > 0 && h("p", {}, `You decided ${count(total)} ${total === 1 ? "item" : "items"} today.`),
    button("Look now", () => { looks = 0; more(); }, { iconName: "refresh" }));
}

function showState() {
  const total = day.total;
  const mine = trail.undecided.length;
  const all = waitingElsewhere === null ? null : waitingElsewhere + mine;
  byId("waiting").textContent = all === null ? "\u00a0" : all === 0 ? "Nothing waits" : `${count(all)} ${all === 1 ? "waits" : "wait"}`;
  byId("today").textContent = `${count(total)} decided today`;
  if (all !== null) showQueueCount(all);
  const latest = trail.latest(5);
  screen.showLatest(latest);
  const [, last] = latest[0] ?? [];
  byId("state").textContent = !last ? "" : `${last.problem ? "not stored: " : last.state === "stored" ? "✓ " : "… "}${KINDS[last.kind].said}`;
  for (const each of document.querySelectorAll("#decide [data-act]")) {
    const act = each.dataset.act;
    if (KINDS[act]) each.disabled = !trail.current?.item;
    if (act === "undo") each.disabled = !last;
    if (act === "back") each.disabled = trail.place === 0;
    if (act === "forward") each.disabled = trail.place >= trail.entries.length - 1;
  }
}

function say(text) {
  byId("said").textContent = text;
}

// Deciding

function decide(kind, since) {
  const entry = trail.current;
  if (!entry?.item || since - decidedAt < BOUNCE) return;
  const before = entry.decisions.at(-1);
  const { label } = KINDS[kind];
  if (before && !before.problem) {
    if (before.kind === kind) return hint(`You said ${KINDS[kind].said} already.`);
    if (!label && KINDS[before.kind].label) return hint(`Take the label back first (${keyOf("undo")}).`);
  }
  decidedAt = since;
  const held = leases.take(entry.id);
  const decision = { id: newId(), kind, state: "waiting", title: safeTitle(entry.item), held };
  if (label) outbox.add({ id: decision.id, kind: "label", prediction: entry.id, label, who: asModerator() });
  else if (held) outbox.add({ id: decision.id, kind, prediction: entry.id, lease: held.lease, who: held.who });
  else decision.state = "stored"; // it has left the queue: there is nothing to pass on
  day.add(kind);
  trail.decide(entry, decision);
  show();
  say(`${KINDS[kind].title}. ${trail.current?.item ? `Next: ${safeTitle(trail.current.item)}` : "Nothing waits."}`);
  measure(since);
  more();
}

function undo() {
  const found = trail.undo();
  if (!found) return hint("There is nothing to take back.");
  const [entry, { id, kind, held, problem, ids }] = found;
  const wasNeverSent = outbox.cancel(id);
  if (wasNeverSent && held) leases.keep(entry.id, held);
  if (!wasNeverSent && !problem && KINDS[kind].label) outbox.add({ kind: "retract", ids: ids ?? [id], who: asModerator("by") });
  if (!wasNeverSent && !problem && !KINDS[kind].label && held) hint("It was passed on already. You can still label it.");
  if (!problem) day.add(kind, -1);
  show();
  say(`Taken back: ${KINDS[kind].said}.`);
}

function hint(text) {
  say(text);
  lastHint?.remove();
  lastHint = toast(text, { seconds: 4 });
}

/** Measure from the key press to the frame that shows the next item. */
function measure(since) {
  requestAnimationFrame(() => {
    const channel = new MessageChannel(); // its message comes behind the frame
    channel.port1.onmessage = () => performance.measure("key-to-next", { start: since, end: performance.now() });
    channel.port2.postMessage(null);
  });
}

function move(by) {
  if (trail.move(by)) show();
}

function act(action, event) {
  if (KINDS[action]) decide(action, event.timeStamp);
  else if (action === "undo") undo();
  else if (action === "back") move(-1);
  else if (action === "forward") move(1);
  else showKeys().then(showKeyNames);
}

// What the service says

function done(entry, answer) {
  if (entry.kind === "label" || entry.kind === "skip" || entry.kind === "unsure") {
    const [, decision] = trail.decision(entry.id) ?? [];
    if (decision) {
      decision.state = "stored";
      if (entry.kind === "label") decision.result = shortened(answer);
      trail.save();
    }
  }
  if (answer?.waiting !== undefined) waitingElsewhere = answer.waiting;
}

const shortened = ({ score, predicted, label, version, duplicate, replaced }) =>
  ({ score, predicted, label, version, duplicate, replaced: Boolean(replaced) });

function failed(entry, error) {
  const [, decision] = trail.decision(entry.id) ?? [];
  const text = refusal(error, decision && entry.kind === "label" ? KINDS[decision.kind].said : "");
  const isPassed = error.type === "lease-lost";
  if (decision && !isPassed) {
    decision.problem = text;
    day.add(decision.kind, -1);
  } else if (decision) {
    decision.state = "stored";
  }
  trail.save();
  const canRetry = error.status >= 500;
  toast(text, { kind: isPassed || error.type === "unknown-label" ? "" : "bad", seconds: canRetry ? 0 : 10,
    action: canRetry ? { text: "Try again", run: () => sendAgain(entry, decision) } : undefined });
}

function sendAgain({ place, tab, wasSent, ...entry }, decision) {
  if (decision) {
    decision.problem = undefined;
    day.add(decision.kind);
  }
  outbox.add(entry);
}

function changed(box, error) {
  const place = byId("connection");
  const isBack = !place.hidden && !error;
  place.hidden = !error;
  if (error) place.textContent = waitingText(error, box.unsent);
  showState();
  if (isBack) more();
}

function leaseLost(id) {
  const entry = trail.find(id);
  if (!entry || entry.decisions.length) return;
  if (entry === trail.current) notice("Your time with this item has run out, and somebody else may get it. Your label still counts.");
  else trail.remove(entry);
  showState();
}

function notice(text) {
  byId("notice").hidden = !text;
  byId("notice").textContent = text;
}

// Items

async function more() {
  const mine = trail.undecided.length;
  if (isAsking || mine > FEW) return;
  isAsking = true;
  clearTimeout(lookAgain);
  try {
    const found = await leases.more(AHEAD - mine, REASONS);
    hasAnswer = true;
    waitingElsewhere = found.waiting;
    heldByOthers = found.items.length ? 0 : found.leased - mine;
    const had = trail.current;
    const isNew = take(found.items);
    if (!had || !isNew) show();
    else showState();
    looks = isNew ? 0 : looks;
    if (isNew && trail.undecided.length <= FEW && found.waiting > 0) lookIn(0.1);
    else if (trail.undecided.length <= FEW) lookIn();
    notice("");
  } catch (error) {
    hasAnswer = true;
    if (error.status === 401) return;
    if (!trail.current) showNothing(error);
    if (trail.current && error.type !== "too-many-leases" && !error.isTransient) fail(error);
    lookIn();
  } finally {
    isAsking = false;
  }
}

/** Put leased items on the trail; those whose decision is on its way stay decided. */
function take(items) {
  let isNew = false;
  for (const item of items) {
    const known = trail.find(item.prediction_id);
    if (!known) {
      trail.add(item);
      isNew = true;
    } else if (known.decisions.length === 0) {
      known.item ??= item;
    } else {
      known.decisions.at(-1).held ??= leases.take(item.prediction_id);
    }
  }
  return isNew;
}

function lookIn(seconds = POLL[Math.min(looks++, POLL.length - 1)]) {
  clearTimeout(lookAgain);
  lookAgain = setTimeout(() => { if (!document.hidden) more(); }, 1000 * seconds);
}

/** Show an item again that was decided before the page was reloaded, or long ago. */
async function recall(entry) {
  if (!context.roles.has("review")) {
    entry.problem = "Your key does not allow to show an earlier item again.";
    show();
    return;
  }
  try {
    const shown = await get(`/predictions/${encodeURIComponent(entry.id)}`, { tenant: context.tenant, explain: REASONS });
    entry.item = { ...shown, unsure: 0 };
  } catch (error) {
    entry.problem = error.message;
  }
  if (entry === trail.current) show();
}

async function readThreshold() {
  if (document.hidden) return;
  try {
    const { threshold } = await get(tenantPath());
    if (threshold === screen.threshold) return;
    screen.threshold = threshold;
    for (const entry of trail.entries) if (entry !== trail.current) entry.view = null;
  } catch {
    screen.threshold = null; // the distance from it is left out
  }
}

// The page

function showKeyNames() {
  for (const each of document.querySelectorAll("#decide [data-act]")) {
    const name = each.querySelector("kbd");
    if (name) name.textContent = keyOf(each.dataset.act);
    each.setAttribute("aria-keyshortcuts", keyOf(each.dataset.act));
  }
}

showKeyNames();
listen(act);
byId("help").addEventListener("click", () => showKeys().then(showKeyNames));
byId("decide").addEventListener("click", (event) => {
  const pressed = event.target.closest("[data-act]");
  if (pressed) act(pressed.dataset.act, event);
});
addEventListener("beforeunload", (event) => {
  if (outbox.unsent && !context.isSignedOut) event.preventDefault();
});
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  looks = 0;
  more();
});
document.addEventListener("moderator", () => location.reload());
if (context.roles.has("review")) {
  readThreshold();
  setInterval(readThreshold, 1000 * THRESHOLD_SECONDS);
}
showState();
outbox.adopt();
more();
