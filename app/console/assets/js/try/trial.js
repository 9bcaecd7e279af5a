// One input to try, and its result.

import { Problem, post, tenantPath } from "../core/api.js";
import { button, fail, fill, h, icon } from "../core/dom.js";
import { bytes, count } from "../core/format.js";
import { visible } from "../core/text.js";
import { EXAMPLES } from "./examples.js";
import { KINDS, bodyOf, guessKind } from "./input.js";
import { resultOf } from "./result.js";

const HINTS = {
  url: "https://…",
  email: "The raw e-mail with its headers. Drop an .eml file here to keep every byte.",
  text: "A message, a comment, a review …",
  features: "A JSON object, or a name and a value on each line",
};
const REASONS = 30;
const MOST_TYPED = 50_000; // characters

/** Make a form and a place for its result. `onResult(answer)` is called for each answer. */
export function trial(name, { onClose, onResult = () => {} } = {}) {
  let kind = "url";
  let held = null; // what is too long for the field, or a file: {name, bytes} or {name, text}
  let asked = null;
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const field = h("textarea", { rows: 7, spellcheck: "false", autocomplete: "off", autocapitalize: "off", dir: "auto",
    "aria-label": `${name} to try` });
  const opened = h("p", { class: "opened", hidden: true });
  const result = h("div", { class: "result", "aria-live": "polite" });
  const kinds = h("div", { class: "segments", role: "group", "aria-label": "What it is" });
  const examples = h("p", { class: "examples" });
  const chooser = h("input", { type: "file", accept: ".eml,.msg,.txt,message/rfc822", hidden: true, tabindex: -1, "aria-hidden": "true",
    onchange: () => { if (chooser.files[0]) open(chooser.files[0]); chooser.value = ""; } });
  const choose = button("Open a file", () => chooser.click(), { kind: "quiet small", iconName: "up" });
  const go = h("button", { type: "submit", class: "button primary" }, "Try it");

  const form = h("form", { class: "card trial-form", onsubmit: (event) => { event.preventDefault(); submit(); } },
    h("div", { class: "row center trial-head" }, kinds, h("span", { class: "spacer" }),
      onClose && h("button", { type: "button", class: "button quiet small", "aria-label": `Close the ${name.toLowerCase()}`, onclick: onClose },
        icon("cross"))),
    field, opened, problem,
    h("div", { class: "row center" }, go, h("span", { class: "small muted keys" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter")), choose, chooser),
    examples);

  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || (kind === "url" && !event.shiftKey))) {
      event.preventDefault();
      submit();
    }
  });
  field.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain");
    if (!text) return;
    if (!field.value.trim()) setKind(guessKind(text));
    if (text.length > MOST_TYPED) {
      event.preventDefault();
      hold(field.value + text);
    }
  });
  field.addEventListener("input", () => { if (field.value.length > MOST_TYPED) hold(field.value); });
  for (const type of ["dragenter", "dragover"]) {
    form.addEventListener(type, (event) => { event.preventDefault(); form.classList.add("dropping"); });
  }
  form.addEventListener("dragleave", (event) => { if (!form.contains(event.relatedTarget)) form.classList.remove("dropping"); });
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("dropping");
    const [dropped] = event.dataTransfer.files;
    const text = event.dataTransfer.getData("text/plain");
    if (dropped) open(dropped);
    else if (text) { setKind(guessKind(text)); put(text); }
  });

  const put = (text) => { if (text.length > MOST_TYPED) hold(text); else field.value = text; };

  /** Keep a long text beside the field: browsers are slow to lay it out there. */
  function hold(text) {
    field.value = "";
    held = { name: `${count(text.length)} characters`, text };
    setKind(kind);
  }

  async function open(chosen) {
    held = { name: chosen.name, bytes: new Uint8Array(await chosen.arrayBuffer()) };
    setKind("email");
    submit();
  }

  function setKind(wanted) {
    kind = wanted;
    if (kind !== "email" && held?.bytes) held = null;
    fill(kinds, KINDS.map(([value, text]) => h("button", { type: "button", "aria-pressed": String(value === kind),
      onclick: () => { setKind(value); field.focus(); } }, text)));
    fill(examples, h("span", { class: "muted small" }, "Examples: "), EXAMPLES[kind].map(([text, example]) =>
      button(text, () => { held = null; setKind(kind); field.value = example; submit(); }, { kind: "small" })));
    field.placeholder = HINTS[kind];
    choose.classList.toggle("unseen", kind !== "email");
    choose.disabled = kind !== "email";
    field.hidden = Boolean(held);
    opened.hidden = !held;
    if (held) {
      fill(opened, icon(held.bytes ? "mail" : "copy"), h("bdi", {}, visible(held.name)),
        held.bytes && h("span", { class: "muted" }, bytes(held.bytes.length)),
        button("Remove", () => { held = null; setKind(kind); field.focus(); }, { kind: "quiet small" }));
    }
  }

  function say(text) {
    problem.hidden = !text;
    problem.textContent = text;
    field.setAttribute("aria-invalid", String(Boolean(text)));
  }

  async function submit() {
    asked?.abort();
    say("");
    let body;
    try {
      if (!held && !field.value.trim()) throw new Error("There is nothing to try yet.");
      body = bodyOf(kind, held?.text ?? field.value, held?.bytes);
    } catch (error) {
      say(error.message);
      return;
    }
    asked = new AbortController();
    const { signal } = asked;
    go.disabled = true;
    result.setAttribute("aria-busy", "true");
    try {
      const answer = await post(tenantPath("/explain"), { ...body, explain: REASONS }, { signal });
      fill(result, resultOf(answer));
      onResult(answer);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(result, resting());
      onResult(null);
      if (error instanceof Problem && error.status && error.status < 500) say(error.message);
      else fail(error);
    } finally {
      if (asked.signal === signal) {
        go.disabled = false;
        result.removeAttribute("aria-busy");
      }
    }
  }

  setKind("url");
  fill(result, resting());
  return { element: h("section", { class: "trial", "aria-label": name }, form, result), focus: () => field.focus() };
}

const resting = () => h("div", { class: "card resting" }, h("p", { class: "muted" }, "The verdict and its reasons appear here."));
