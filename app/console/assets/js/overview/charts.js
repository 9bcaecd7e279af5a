// What the three panels show of a timeline: accuracy, labels, delay.

import { h } from "../core/dom.js";
import { count, duration, hour, percent, time } from "../core/format.js";
import { markLines, markWords } from "./marks.js";
import { periodWords } from "./words.js";

const RATES = { balanced_accuracy: "Balanced accuracy", sensitivity: "Sensitivity", specificity: "Specificity" };
const NO_LABELS = "No label in this range. Choose a longer one, or label some items in review.";
const day = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });

function when(period, seconds) {
  if (seconds >= 86400) return `${day.format(new Date(period.since))}${seconds > 86400 ? " on" : ""}`;
  return time(period.since);
}

const middle = (period) => (period.since + period.until) / 2000;
const xs = (timeline) => timeline.periods.map(middle);
const isOver = (timeline) => timeline.whole.anomalies + timeline.whole.normal === 0;
const interval = (rate) => (rate.value === null ? "–" : `${percent(rate.value)} (${percent(rate.low)} to ${percent(rate.high)})`);

/** The range of the whole chart, also where its ends have no values. */
const xRange = (timeline) => () => [timeline().periods[0].since / 1000, timeline().periods.at(-1).until / 1000];

const dayAndMonth = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** Dates, and times between them. */
const xAxis = { values: (_, ticks, __, ___, step) => ticks.map((each) => {
  const date = new Date(1000 * each);
  return step >= 86400 || date.getHours() + date.getMinutes() === 0 ? dayAndMonth.format(date) : hour(date);
}), space: 64, size: 30 };

export function accuracy(timeline, rate, latest) {
  const honest = timeline.periods.map((each) => each.honest[rate]);
  const naive = timeline.periods.map((each) => each.served[rate]);
  const seconds = timeline.period_seconds;
  const whole = timeline.whole;
  const name = RATES[rate];
  const hasAny = naive.some((each) => each !== null) || honest.some((each) => each.value !== null);
  const marks = timeline.marks.length;
  const drifts = timeline.marks.filter((each) => each.kind === "drift");
  const said = whole.honest[rate].value === null ? `naive ${percent(whole.served[rate])}; no honest figure: ${whole.honest[rate].reason}`
    : `honest ${interval(whole.honest[rate])}, naive ${percent(whole.served[rate])}`;
  return {
    shape: `accuracy ${rate}`,
    empty: isOver(timeline) ? NO_LABELS : !hasAny && "No label in this range is for a prediction of its own: label by prediction_id, as review does, and the verdicts can be judged.",
    summary: `${name} per ${periodWords(seconds)}. In this range: ${said}.${drifts.map((each) => ` Drift on ${time(each.at)}: ${markWords(each)}.`).join("")}`,
    summaryParts: [`${name} per ${periodWords(seconds)}. In this range: `, h("b", {}, said)],
    readout: (index) => [h("b", {}, when(timeline.periods[index], seconds)), ` · honest ${interval(honest[index])} · naive ${percent(naive[index])}`,
      ` · ${count(timeline.periods[index].anomalies + timeline.periods[index].normal)} labels`, near(timeline, index).map((each) => ` · ${markWords(each)}`)],
    legend: [["honest", "honest"], ["band", "95% interval"], ["naive", "naive"],
      ...(drifts.length ? [["drift", "drift to the worse"]] : []),
      ...(marks > drifts.length ? [["settings", "settings changed"]] : [])],
    columns: [xs(timeline), honest.map((each) => each.low), honest.map((each) => each.high), honest.map((each) => each.value), naive],
    options: (colour) => ({
      scales: { x: { range: xRange(latest) }, y: { range: (_, low, high) => lowAndHigh(low, high) } },
      axes: [xAxis, { values: (_, ticks) => ticks.map((each) => percent(each, 0)), size: 48 }],
      bands: [{ series: [2, 1], fill: `${colour("accent")}2e` }],
      series: [{}, { stroke: "transparent", points: { show: false } }, { stroke: "transparent", points: { show: false } },
        { stroke: colour("accent"), width: 2.5, points: { show: true, size: 5, fill: colour("accent") } },
        { stroke: colour("warn"), width: 1.5, dash: [5, 3], points: { show: true, size: 3, fill: colour("warn") } }],
      plugins: [markLines(() => latest().marks, colour)],
    }),
    table: {
      words: 5,
      head: ["From", "Honest", "95% interval", "Naive", "Labels", "What happened"],
      rows: timeline.periods.map((each, place) => [time(each.since), percent(honest[place].value),
        honest[place].value === null ? "–" : `${percent(honest[place].low)} to ${percent(honest[place].high)}`, percent(naive[place]),
        count(each.anomalies + each.normal), near(timeline, place).map(markWords).join("; ")]).reverse(),
    },
  };
}

const near = (timeline, index) => timeline.marks.filter(({ at }) => at >= timeline.periods[index].since && at < timeline.periods[index].until);

function lowAndHigh(low, high) {
  if (low === null || low === undefined) return [0, 1];
  return [Math.max(0, Math.floor(10 * low - 0.2) / 10), Math.min(1, Math.ceil(10 * high + 0.05) / 10) + 0.005];
}

export function labels(timeline, latest) {
  const seconds = timeline.period_seconds;
  const each = timeline.periods;
  const { whole } = timeline;
  return {
    shape: "labels",
    title: `Labels per ${periodWords(seconds)}`,
    empty: isOver(timeline) && NO_LABELS,
    summary: `In this range: ${count(whole.anomalies)} anomalies and ${count(whole.normal)} normal.`,
    readout: (index) => [h("b", {}, when(each[index], seconds)), ` · ${count(each[index].anomalies)} anomalies · ${count(each[index].normal)} normal`],
    legend: [["anomaly", "anomalies"], ["normal", "normal"]],
    columns: [xs(timeline), each.map((one) => one.anomalies + one.normal), each.map((one) => one.anomalies)],
    options: (colour) => ({
      scales: { x: { range: xRange(latest) }, y: { range: (_, low, high) => [0, Math.max(high * 1.08, 4)] } },
      axes: [xAxis, { values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? count(tick) : "")), size: 48 }],
      series: [{}, ...["normal", "anomaly"].map((name) => ({ fill: colour(name), stroke: colour(name), width: 0,
        paths: window.uPlot.paths.bars({ size: [0.72, 40], radius: 0.08 }), points: { show: false } }))],
    }),
    table: {
      head: ["From", "Anomalies", "Normal"],
      rows: each.map((one) => [time(one.since), count(one.anomalies), count(one.normal)]).reverse(),
    },
  };
}

export function delay(timeline, latest) {
  const seconds = timeline.period_seconds;
  const each = timeline.periods.map((one) => one.delay);
  const { whole } = timeline;
  const floor = (value) => (value === null ? null : Math.max(value, 1));
  return {
    shape: "delay",
    empty: isOver(timeline) ? NO_LABELS : whole.delay.labels === 0 && "No label in this range is for a prediction of its own, so nobody knows how long they took. Label by prediction_id.",
    summary: whole.delay.labels ? `From prediction to label. In this range: half within ${duration(whole.delay.median_seconds)}, 90% within ${duration(whole.delay.p90_seconds)}.` : "",
    readout: (index) => [h("b", {}, when(timeline.periods[index], seconds)), each[index].labels
      ? ` · half within ${duration(each[index].median_seconds)} · 90% within ${duration(each[index].p90_seconds)}` : " · no label"],
    legend: [["median", "half of the labels"], ["p90", "90% of the labels"]],
    columns: [xs(timeline), each.map((one) => floor(one.median_seconds)), each.map((one) => floor(one.p90_seconds))],
    options: (colour) => ({
      scales: { x: { range: xRange(latest) }, y: { distr: 3, range: (_, low, high) => [Math.max(10 ** Math.floor(Math.log10(low || 1)), 1), Math.max(2 * (high || 10), 10)] } },
      axes: [xAxis, { splits: (plot) => STEPS.filter((step) => step >= plot.scales.y.min && step <= plot.scales.y.max), filter: (_, found) => found,
        values: (_, ticks) => ticks.map(duration), size: 56 }],
      series: [{}, { stroke: colour("accent"), width: 2.5, points: { show: true, size: 5, fill: colour("accent") } },
        { stroke: colour("line-strong"), width: 2, points: { show: true, size: 4, fill: colour("line-strong") } }],
    }),
    table: {
      head: ["From", "Half within", "90% within", "Labels"],
      rows: timeline.periods.map((one, place) => [time(one.since), duration(each[place].median_seconds), duration(each[place].p90_seconds), count(each[place].labels)]).reverse(),
    },
  };
}

const STEPS = [1, 10, 60, 600, 3600, 21600, 86400, 604800, 2592000];
