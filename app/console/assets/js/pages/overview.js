import { context, get, tenantPath } from "../core/api.js";
import { byId, empty, fail, fill, h } from "../core/dom.js";
import { watch } from "../core/live.js";
import { showQueueCount } from "../core/shell.js";
import { accuracy, delay, labels } from "../overview/charts.js";
import { showHealth, showLabels, showQueue, showRates } from "../overview/figures.js";
import { showModel, showWeights, WEIGHTS } from "../overview/model.js";
import { Panel } from "../overview/panel.js";

const DAY = 86400000;
const PERIODS = { 1: 48, 7: 56, 30: 31, 0: 60 };
const STATUS = { live: "Live", lost: "Connection lost. Trying again", ended: "Ended", connecting: "Connecting" };
const QUICK_MILLISECONDS = 3000; // at least, between two timelines; and as long as RATIO of them take
const RATIO = 20;
const SLOW_MILLISECONDS = 60000; // between two looks at the whole model

const panels = { accuracy: new Panel("accuracy"), labels: new Panel("given"), delay: new Panel("delay") };
let state = null; // of the tenant; events bring parts of it up to date
let timeline = null;
let lastDay;
let days = 30;
let isChosen = false;
let rate = "balanced_accuracy";

function press(group, button) {
  for (const each of group.children) each.setAttribute("aria-pressed", String(each === button));
}

byId("range").addEventListener("click", ({ target }) => {
  if (!target.dataset.days) return;
  press(byId("range"), target);
  days = Number(target.dataset.days);
  isChosen = true;
  timelines.now();
});
byId("rate").addEventListener("click", ({ target }) => {
  if (!target.dataset.rate) return;
  press(byId("rate"), target);
  rate = target.dataset.rate;
  if (timeline) panels.accuracy.show(accuracy(timeline, rate, () => timeline));
});

function showState() {
  showHealth(state);
  showRates(state);
  showLabels(state, lastDay);
  showQueue(state.queue);
  showQueueCount(state.queue?.waiting);
}

/** There is no such tenant, or not any more. What is shown of it stays. */
function showMissing(error) {
  live.close();
  if (state) return;
  fill(byId("main"), empty("No such tenant", `${error.message}.`, h("a", { class: "button", href: `${context.root}/tenants` }, "All tenants")));
  byId("main").querySelector("h2").replaceWith(h("h1", {}, "No such tenant"));
}

function showTimeline() {
  panels.accuracy.show(accuracy(timeline, rate, () => timeline));
  panels.labels.show(labels(timeline, () => timeline));
  panels.delay.show(delay(timeline, () => timeline));
}

/** Something that is read again when labels have come, but not too often: one at a time, and it pauses in between. */
function reading(read, pause) {
  let running = false;
  let wanted = false;
  let isUrgent = false;
  let timer = 0;
  const start = async () => {
    if (running) return;
    clearTimeout(timer);
    timer = 0;
    running = true;
    wanted = false;
    isUrgent = false;
    const begin = performance.now();
    try {
      await read();
    } catch (error) {
      if (error.status === 404) showMissing(error);
      else fail(error);
    }
    running = false;
    if (isUrgent) { start(); return; }
    timer = setTimeout(() => { timer = 0; if (wanted) start(); }, Math.max(pause, RATIO * (performance.now() - begin)));
  };
  return {
    now() { isUrgent = true; start(); },
    soon() { if (running || timer) wanted = true; else start(); },
  };
}

/** Begin with a range that has labels in most of it, unless the user has chosen one. */
function chooseRange({ first_at: first }) {
  if (isChosen || !first) return false;
  isChosen = true;
  const fitting = [1, 7].find((each) => Date.now() - first < each * DAY);
  if (!fitting) return false;
  days = fitting;
  press(byId("range"), byId("range").querySelector(`[data-days="${fitting}"]`));
  return true;
}

const timelines = reading(async () => {
  const wantedDays = days;
  const now = Date.now();
  const query = { periods: PERIODS[wantedDays] };
  if (wantedDays) query.since = new Date(now - wantedDays * DAY).toISOString();
  const [found, day] = await Promise.all([
    get(tenantPath("/timeline"), query),
    get(tenantPath("/timeline"), { periods: 1, since: new Date(now - DAY).toISOString() }),
  ]);
  if (wantedDays !== days || chooseRange(found)) { timelines.now(); return; }
  timeline = found;
  lastDay = day.whole.anomalies + day.whole.normal;
  showTimeline();
  if (state) showLabels(state, lastDay);
}, QUICK_MILLISECONDS);

const models = reading(async () => {
  const [whole, { weights }] = await Promise.all([get(tenantPath()), get(tenantPath("/weights"), { top: WEIGHTS })]);
  const isFirst = state === null;
  const { review, ...rest } = whole;
  state = isFirst ? { ...rest, queue: review && { ...review, oldest_at: review.oldest_age_seconds && Date.now() - 1000 * review.oldest_age_seconds } }
    : { ...rest, ...state, config: whole.config, algorithm: whole.algorithm, nonzero_weights: whole.nonzero_weights,
      sparsity: whole.sparsity, digest: whole.digest, memory_bytes: whole.memory_bytes, dropped_features: whole.dropped_features };
  if (isFirst) showState();
  showModel(state);
  showWeights(weights);
}, SLOW_MILLISECONDS);

const live = watch({
  onState(found) {
    const isNew = !state || found.version !== state.version;
    const wasWhole = state && "config" in state;
    const before = state?.rebuilding;
    state = { ...state, ...found };
    showState();
    if (wasWhole) showModel(state);
    if (isNew && timeline) timelines.soon();
    if ((isNew && wasWhole) || (before && state.rebuilding === null)) models.soon();
  },
  onStatus(status, text) {
    if (!byId("live")) return;
    byId("live").dataset.status = status;
    fill(byId("live-text"), text || STATUS[status]);
    const place = byId("connection");
    place.hidden = status !== "lost";
    fill(place, status === "lost" ? "Connection lost: numbers may be old" : "");
  },
});

timelines.now();
models.now();
setInterval(() => { if (state) showQueue(state.queue); }, 30000);
