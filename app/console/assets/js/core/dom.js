// Building pages. Text from the service only ever becomes text nodes: nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";
const icons = new URL("../../icons.svg", import.meta.url).pathname;

/** Return the element with an id. */
export const byId = (id) => document.getElementById(id);

/** Make an element: h("p", {class: "muted", onclick: f}, "text", child). Empty children are left out. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key === "style") Object.assign(element.style, value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Replace what an element contains. */
export function fill(element, ...children) {
  const parts = document.createDocumentFragment();
  append(parts, children);
  element.replaceChildren(parts);
  return element;
}

export function icon(name, extra = "") {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", `icon ${extra}`.trim());
  picture.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${icons}#${name}`);
  picture.append(use);
  return picture;
}

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  append(element, children);
  return element;
}

export function button(text, onclick, { kind = "", iconName, title, ...rest } = {}) {
  return h("button", { type: "button", class: `button ${kind}`.trim(), onclick, title, ...rest },
    iconName && icon(iconName), h("span", {}, text));
}

/** Show a passing message. `action` is {text, run}. */
export function toast(text, { kind = "", action, seconds = 6 } = {}) {
  const message = h("div", { class: `toast ${kind}`.trim() }, h("span", {}, text),
    action && h("button", { type: "button", class: "button quiet", onclick: () => { message.remove(); action.run(); } },
      action.text),
    h("button", { type: "button", class: "button quiet", "aria-label": "Close", onclick: () => message.remove() },
      icon("cross")));
  const all = byId("toasts");
  all.append(message);
  while (all.children.length > 4) all.firstElementChild.remove();
  if (seconds) setTimeout(() => message.remove(), 1000 * seconds);
  return message;
}

export function fail(error) {
  if (error.name === "AbortError") return;
  const id = error.requestId ? ` (request ${error.requestId})` : "";
  toast(`${error.message}${id}`, { kind: "bad", seconds: 12 });
}

/** Show a modal dialog; resolves with what `close(value)` is given, or undefined if it is cancelled. */
export function dialog(title, build, { wide = false } = {}) {
  return new Promise((resolve) => {
    let result;
    const box = h("dialog", { class: wide ? "wide" : "", "aria-label": title });
    const close = (value) => { result = value; box.close(); };
    fill(box, h("header", {}, h("h2", {}, title),
      h("button", { type: "button", class: "button quiet", "aria-label": "Close", onclick: () => close() }, icon("cross"))),
      build(close));
    box.addEventListener("close", () => { box.remove(); resolve(result); });
    document.body.append(box);
    box.showModal();
  });
}

/** Ask before something is done. */
export function confirm(title, text, doIt, { kind = "primary" } = {}) {
  return dialog(title, (close) => h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); close(true); } },
    h("p", {}, text),
    h("footer", {}, button("Cancel", () => close(false)), h("button", { type: "submit", class: `button ${kind}` }, doIt))));
}

/** An empty place that says why it is empty. */
export function empty(title, text, ...more) {
  return h("div", { class: "empty" }, h("h2", {}, title), text && h("p", {}, text), ...more);
}

export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}`.trim() }, text);
}

export function labelBadge(label) {
  if (label === 1) return badge("anomaly", "anomaly");
  if (label === -1) return badge("normal", "normal");
  return badge("unknown");
}
