// One label: what was labelled, why the model said what, then and now, and all labels of the prediction.

import { context, get, newId, persistently, post, tenantPath } from "../core/api.js";
import { badge, button, empty, fail, fill, h, icon, labelBadge, toast } from "../core/dom.js";
import { inputView } from "../core/input.js";
import { ago, percent, time } from "../core/format.js";
import { visible } from "../core/text.js";
import { asModerator } from "../core/who.js";
import { thenAndNow } from "./reasons.js";
import { takeBack } from "./retraction.js";
import { mayTakeBack } from "./table.js";
import { isReplaced, isTakenBack, labelName, person } from "./words.js";

/** A drawer that shows one label after the other. `step(by)` returns the label before or behind; `changed()` reloads. */
export class Drawer {
  constructor({ step, changed, opened }) {
    this.step = step;
    this.changed = changed;
    this.opened = opened;
    this.body = h("div", { class: "content" });
    this.heading = h("h2", { tabindex: "-1", class: "row center" });
    this.box = h("dialog", { class: "drawer", "aria-label": "A label" },
      h("header", {}, this.heading, h("span", { class: "spacer" }),
        h("button", { type: "button", class: "button quiet", "aria-label": "Newer label (K)", title: "Newer (K)", onclick: () => this.move(-1) }, icon("up")),
        h("button", { type: "button", class: "button quiet flip", "aria-label": "Older label (J)", title: "Older (J)", onclick: () => this.move(1) }, icon("up")),
        h("button", { type: "button", class: "button quiet", "aria-label": "Close", onclick: () => this.box.close() }, icon("cross"))),
      this.body);
    this.box.addEventListener("keydown", (event) => {
      if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
      const by = { j: 1, k: -1 }[event.key];
      if (by) this.move(by);
    });
    this.box.addEventListener("click", (event) => { if (event.target === this.box) this.box.close(); });
    this.box.addEventListener("close", () => { this.label = null; this.request?.abort(); opened(null); });
    document.body.append(this.box);
  }

  move(by) {
    const next = this.step(this.label, by);
    if (next) this.show(next);
  }

  async show(label) {
    this.request?.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    this.label = label;
    this.opened(label);
    fill(this.heading, labelBadge(label.label), h("span", {}, time(label.at)));
    fill(this.body, h("div", { class: "skeleton tall" }), h("div", { class: "skeleton tall" }));
    if (!this.box.open) this.box.showModal();
    this.body.scrollTop = 0;
    if (!label.prediction_id) {
      fill(this.body, empty("No prediction belongs to this label", "It was given together with its input, which the history does not show."), this.labels([label]));
      return;
    }
    try {
      const found = await get(`/predictions/${encodeURIComponent(label.prediction_id)}`, { tenant: context.tenant, explain: 12 }, { signal });
      if (!signal.aborted) this.fill(found);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(this.body, h("p", { class: "problem" }, error.message), this.labels([label]));
    }
  }

  fill(found) {
    const reasons = (found.then || found.now)?.reasons || [];
    fill(this.body,
      h("section", {}, h("h3", {}, "What was labelled"), inputView(found.input, reasons, found.features)),
      this.actions(found),
      h("section", {}, h("h3", {}, "What the model said"), thenAndNow(found)),
      h("section", {}, this.labels(found.labels)),
      h("dl", { class: "facts small" }, h("dt", {}, "Prediction"), h("dd", { class: "mono" }, found.prediction_id),
        found.at && [h("dt", {}, "Answered"), h("dd", {}, `${time(found.at)} (${ago(found.at)})`)],
        found.review_reason && [h("dt", {}, "In the queue"), h("dd", {}, `${found.review_reason}${found.chosen_with ? `, chosen with ${percent(found.chosen_with, 0)}` : ""}`)]));
  }

  actions(found) {
    if (!context.roles.has("feedback")) return null;
    const standing = found.labels.find((label) => !label.retracted);
    const give = (label) => button(standing ? `Correct to ${labelName(label)}` : `Label as ${labelName(label)}`,
      (event) => this.correct(found, label, event.currentTarget), { kind: label === 1 ? "anomaly" : "normal" });
    const choices = standing ? [give(-standing.label)] : [give(1), give(-1)];
    const isForeign = standing && standing.feedback_id && !mayTakeBack(standing);
    return h("div", { class: "row center actions" }, choices,
      standing && mayTakeBack(standing) && button("Take back …", () => this.retract(standing), { iconName: "undo" }),
      isForeign && h("span", { class: "muted small" }, "It was given with another key: an administrator can take it back."));
  }

  labels(all) {
    return [h("h3", {}, all.length === 1 ? "Its label" : "Its labels, the newest first"), h("ol", { class: "timeline" }, all.map((label) => h("li", {
      class: label.retracted ? "gone" : "" },
    h("div", { class: "row center" }, labelBadge(label.label), person(label.moderator, label.key_id),
      h("span", { class: "muted small" }, time(label.at)), !label.retracted && badge("stands", "accent")),
    label.moderator && label.key_id && h("div", { class: "muted small" }, "with key ", h("span", { class: "mono" }, label.key_id)),
    isReplaced(label) && h("div", { class: "muted small" }, "Replaced by ", person(label.retracted.moderator, label.retracted.key_id), `, ${time(label.retracted.at)}.`),
    isTakenBack(label) && h("div", { class: "muted small" }, "Taken back by ", person(label.retracted.moderator, label.retracted.key_id), `, ${time(label.retracted.at)}`,
      label.retracted.reason && [": ", h("bdi", {}, visible(label.retracted.reason))], "."))))];
  }

  async correct(found, label, pressed) {
    pressed.disabled = true;
    const body = { tenant: context.tenant, prediction_id: found.prediction_id, label, feedback_id: newId(), ...asModerator() };
    try {
      await persistently(() => post("/feedback", body));
      toast(`Labelled as ${labelName(label)}. The model is as if the earlier label had never been given.`);
      await this.changed();
      await this.show({ ...this.label, label });
    } catch (error) {
      pressed.disabled = false;
      fail(error);
    }
  }

  async retract(label) {
    const done = await takeBack({ feedback_ids: [label.feedback_id] }, "Take back this label");
    if (!done) return;
    await this.changed();
    if (this.label) await this.show(this.label);
  }
}
