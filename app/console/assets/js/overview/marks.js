// Vertical lines in a chart where drift was found or settings were changed.

/** A uPlot plugin. `marks` is asked each time, so that new ones appear with new data. */
export function markLines(marks, colour) {
  return {
    hooks: {
      draw: [(plot) => {
        const { ctx, bbox } = plot;
        ctx.save();
        ctx.lineWidth = Math.round(1.5 * devicePixelRatio);
        for (const { at, kind } of marks()) {
          const x = Math.round(plot.valToPos(at / 1000, "x", true));
          if (x < bbox.left || x > bbox.left + bbox.width) continue;
          ctx.strokeStyle = colour(kind === "drift" ? "anomaly" : "line-strong");
          ctx.setLineDash(kind === "drift" ? [] : [4 * devicePixelRatio, 4 * devicePixelRatio]);
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
        }
        ctx.restore();
      }],
    },
  };
}

export function markWords({ kind, what }) {
  if (kind === "drift") return what[0] === "anomaly" ? "more anomalies were missed" : "more normal items were flagged";
  return `settings changed: ${what.join(", ")}`;
}
