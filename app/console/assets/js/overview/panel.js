// A panel with a chart, its numbers as a table, a line that says what the pointer is at, and a legend.

import { byId, fill, h } from "../core/dom.js";
import { chart } from "../core/chart.js";

/** `describe` gives of the data: {columns, options(colour), legend, summary, readout(index), table: {head, rows, words: the column with words}, empty}. */
export class Panel {
  constructor(id) {
    this.root = byId(`panel-${id}`);
    this.title = this.root.querySelector("h3");
    this.toggle = this.part("toggle");
    this.isTable = false;
    this.drawn = null;
    this.shape = "";
    this.toggle.addEventListener("click", () => { this.isTable = !this.isTable; this.shape = ""; this.show(this.content); });
  }

  part(name) { return this.root.querySelector(`[data-part="${name}"]`); }

  show(content) {
    this.content = content;
    if (!content) return;
    if (content.title) fill(this.title, content.title);
    this.toggle.hidden = Boolean(content.empty);
    this.toggle.setAttribute("aria-pressed", String(this.isTable));
    fill(this.part("legend"), content.empty ? [] : content.legend.map(([kind, text]) => h("li", {}, h("i", { class: kind, "aria-hidden": "true" }), text)));
    this.read(null);
    if (content.empty) this.replace("empty", h("div", { class: "empty" }, h("p", {}, content.empty)));
    else if (this.isTable) this.replace(null, table(content.table, this.title.textContent));
    else this.draw(content);
  }

  /** Draw again only if there is another kind of chart: new data alone moves the lines. */
  draw(content) {
    if (this.drawn && this.shape === content.shape) {
      this.drawn.set(content.columns);
      this.place.setAttribute("aria-label", content.summary);
      return;
    }
    this.place = h("div", { class: "chart", role: "img", "aria-label": content.summary });
    this.replace(content.shape, this.place);
    this.drawn = chart(this.place, (colour) => this.options(colour), content.columns);
  }

  options(colour) {
    const options = this.content.options(colour);
    return { legend: { show: false }, padding: [10, 12, 0, 0], ...options,
      cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
      hooks: { ...options.hooks, setCursor: [(plot) => this.read(plot.cursor.idx)] } };
  }

  read(index) {
    const { content } = this;
    if (content.empty) fill(this.part("readout"), "\u00a0");
    else fill(this.part("readout"), index === null || index === undefined ? content.summaryParts || content.summary : content.readout(index));
  }

  replace(shape, element) {
    this.drawn?.destroy();
    this.drawn = null;
    this.shape = shape;
    fill(this.part("body"), element);
  }
}

function table({ head, rows, words }, title) {
  const kind = (place) => (place === 0 ? "" : place === words ? "words" : "number");
  return h("div", { class: "table-frame", tabindex: 0, role: "region", "aria-label": `${title}, as a table` },
    h("table", {}, h("thead", {}, h("tr", {}, head.map((each, place) => h("th", { scope: "col", class: kind(place) }, each)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((each, place) => (place
        ? h("td", { class: kind(place) }, each) : h("th", { scope: "row" }, each))))))));
}
