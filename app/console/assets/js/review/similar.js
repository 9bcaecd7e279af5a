// How people have labelled before what looks like an item.

import { context, get } from "../core/api.js";
import { fill, h, icon, labelBadge } from "../core/dom.js";
import { ago, percent } from "../core/format.js";
import { cut, defang, visible } from "../core/text.js";

const PAUSE = 150; // milliseconds: who decides faster does not look at it
const MOST = 3;
const LEAST = 0.15; // less in common is not worth a look
const known = new Map(); // what was found, by prediction id

/** Keep a panel up to date: call the result with the id of the item that is on screen, or null. */
export function similarPanel(place) {
  let asking = null;
  return (id) => {
    asking?.abort();
    asking = null;
    if (id === null) {
      fill(place);
      return;
    }
    if (known.has(id)) {
      fill(place, shown(known.get(id)));
      return;
    }
    fill(place, h("p", { class: "muted small" }, "Looking …"));
    const asked = new AbortController();
    asking = asked;
    setTimeout(async () => {
      if (asked.signal.aborted) return;
      try {
        const found = await get(`/predictions/${encodeURIComponent(id)}/similar`, { tenant: context.tenant, limit: MOST },
          { signal: asked.signal });
        known.set(id, found);
        if (known.size > 50) known.delete(known.keys().next().value);
        if (asking === asked) fill(place, shown(found));
      } catch (error) {
        if (error.name !== "AbortError" && asking === asked) fill(place, h("p", { class: "muted small" }, error.message));
      }
    }, PAUSE);
  };
}

function shown(found) {
  const labels = found.labels.filter(({ similarity }) => similarity >= LEAST);
  if (!labels.length) return h("p", { class: "muted small" }, "Nothing like it has been labelled lately.");
  const { anomalies, normal } = found;
  const all = anomalies + normal;
  return [
    all > 0 && h("p", { class: "small" }, `Of ${all} that look alike, `,
      h("b", { class: "anomaly-text" }, String(anomalies)), ` ${anomalies === 1 ? "is an anomaly" : "are anomalies"} and `,
      h("b", { class: "normal-text" }, String(normal)), ` ${normal === 1 ? "is" : "are"} normal.`),
    h("ul", { class: "similar" }, labels.map((each) => h("li", {},
      h("div", { class: "line" }, labelBadge(each.label), h("span", { class: "muted small" },
        `${percent(each.similarity, 0)} alike · `, each.moderator && [h("bdi", {}, visible(cut(each.moderator, 40))), " · "], ago(each.at))),
      h("div", { class: "excerpt" }, excerpt(each))))),
  ];
}

function excerpt({ input, shared }) {
  if (input?.kind === "url") return h("bdi", { class: "mono" }, cut(defang(input.url), 160));
  if (input?.kind === "text") return h("bdi", {}, visible(cut(input.text, 160)));
  if (input?.kind === "email") {
    return [icon("mail"), h("bdi", {}, visible(cut(input.parts.subject || "(no subject)", 100))),
      h("span", { class: "muted" }, " ", h("bdi", {}, visible(cut(input.parts.from || "", 60))))];
  }
  return h("span", { class: "muted" }, "In common: ", h("bdi", { class: "mono" }, visible(cut(shared.join(", "), 160))));
}
