// The curve as a chart, with today's threshold and a mark that can be dragged.

import { chart } from "../core/chart.js";
import { percent, real } from "../core/format.js";
import { RATES } from "./curve.js";

export const COLOURS = { sensitivity: "anomaly", specificity: "normal", precision: "accent", flagged: "warn" };
const DASHES = { sensitivity: [], specificity: [], precision: [7, 4], flagged: [2, 3] };

/** Draw the curve into an element. `onDrag(threshold)` is called while the mark is moved. */
export function plotOf(place, points, now, onDrag, onLayout) {
  let mark = now;
  const hidden = new Set();
  const drawing = chart(place, (colour) => options(colour, () => mark, now, hidden, onLayout), dataOf(points));
  let isDragged = false;
  const move = (event) => {
    const box = drawing.plot.over.getBoundingClientRect();
    onDrag(drawing.plot.posToVal(Math.min(Math.max(event.clientX - box.left, 0), box.width), "x"));
  };
  place.addEventListener("pointerdown", (event) => {
    if (event.button || !drawing.plot.over.contains(event.target)) return;
    isDragged = true;
    place.setPointerCapture(event.pointerId);
    move(event);
  });
  place.addEventListener("pointermove", (event) => { if (isDragged) move(event); });
  for (const type of ["pointerup", "pointercancel"]) place.addEventListener(type, () => { isDragged = false; });
  return {
    setMark(threshold) { mark = threshold; drawing.plot.redraw(false, false); },
    toggle(rate) {
      if (!hidden.delete(rate)) hidden.add(rate);
      drawing.plot.batch(() => {
        for (let k = 1; k <= 3; k += 1) drawing.plot.setSeries(3 * RATES.indexOf(rate) + k, { show: !hidden.has(rate) });
      });
      return !hidden.has(rate);
    },
    destroy() { drawing.destroy(); },
  };
}

function dataOf(points) {
  return [points.map((each) => each.threshold),
    ...RATES.flatMap((rate) => ["low", "high", "value"].map((end) => points.map((each) => each[rate][end])))];
}

function options(colour, mark, now, hidden, onLayout) {
  const line = (plot, value, stroke, width, dash) => {
    const x = Math.round(plot.valToPos(value, "x", true));
    const { top, height, left, width: wide } = plot.bbox;
    if (x < left - 1 || x > left + wide + 1) return null;
    const { ctx } = plot;
    ctx.save();
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width * devicePixelRatio;
    ctx.setLineDash(dash.map((each) => each * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.restore();
    return x;
  };
  const drawMarks = (plot) => {
    line(plot, now, colour("muted"), 1.5, [4, 4]);
    const x = line(plot, mark(), colour("text"), 2, []);
    if (x === null) return;
    const { ctx } = plot;
    ctx.save();
    ctx.fillStyle = colour("text");
    ctx.beginPath();
    ctx.arc(x, plot.bbox.top + plot.bbox.height / 2, 6 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.restore();
  };
  const layout = (plot) => onLayout(plot.over.offsetLeft, plot.over.offsetWidth);
  return {
    legend: { show: false },
    cursor: { show: false, drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: [0, 1.02] } },
    axes: [{ values: (_, ticks) => ticks.map((each) => real(each, 2).replace(/\.?0+$/, "")) },
      { values: (_, ticks) => ticks.map((each) => percent(each, 0)), size: 54 }],
    series: [{}, ...RATES.flatMap((rate) => {
      const stroke = colour(COLOURS[rate]);
      const edge = { stroke: "transparent", width: 0, points: { show: false }, show: !hidden.has(rate) };
      return [edge, edge, { stroke, width: 2, dash: DASHES[rate], points: { show: false }, show: !hidden.has(rate) }];
    })],
    bands: RATES.map((rate, index) => ({ series: [3 * index + 2, 3 * index + 1], fill: `${colour(COLOURS[rate])}22` })),
    hooks: { draw: [drawMarks], ready: [layout], setSize: [layout] },
  };
}
