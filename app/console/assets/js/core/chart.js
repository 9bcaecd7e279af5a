// Charts with uPlot, in the colours of the page. A page that draws includes uPlot's script and style.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Draw a chart into an element. `make(colour)` returns uPlot's options without size; it is asked again for a new theme.
 *  Returns {set(data), destroy()}. The element needs a text of its own for people who cannot see it. */
export function chart(place, make, data) {
  let plot;
  let shown = data;
  const size = () => ({ width: Math.max(place.clientWidth, 200), height: Math.max(place.clientHeight, 200) });
  const colour = (name) => style(`--${name}`);
  const axes = (options) => (options.axes || [{}, {}]).map((each) => ({
    stroke: colour("muted"), font: "12px system-ui", grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 }, ...each,
  }));
  const draw = () => {
    plot?.destroy();
    const options = make(colour);
    plot = new window.uPlot({ ...options, ...size(), axes: axes(options) }, shown, place);
  };
  draw();
  const observer = new ResizeObserver(() => plot.setSize(size()));
  observer.observe(place);
  document.addEventListener("theme", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  return {
    set(next) { shown = next; plot.setData(next); },
    get plot() { return plot; },
    destroy() { observer.disconnect(); document.removeEventListener("theme", draw); plot.destroy(); },
  };
}
