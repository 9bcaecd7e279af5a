// What to do where there is no tenant yet.

import { context } from "../core/api.js";
import { button, h, toast } from "../core/dom.js";

function command(text) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied");
    } catch {
      toast("The browser does not allow that: select the text and copy it.", { kind: "bad" });
    }
  };
  return h("div", { class: "command" }, h("pre", { tabindex: 0, "aria-label": "Command" }, text),
    button("Copy", copy, { kind: "small", iconName: "copy" }));
}

export function firstRun() {
  const url = location.origin + context.api;
  const key = context.key ? " \\\n  -H 'x-api-key: sluice_...'" : "";
  const line = (path, body) => command(`curl -s ${url}${path} -H 'content-type: application/json'${key} \\\n  -d '${JSON.stringify(body)}'`);
  return h("section", { class: "card first-run" }, h("h2", {}, "No tenant yet"),
    h("p", {}, "A tenant is a stream of items with a model of its own. It begins with its first prediction:"),
    h("ol", {},
      h("li", {}, "Send something to be scored. The name of the tenant is yours to choose.",
        line("/predict", { tenant: "links", url: "http://login.example.org/account/verify?id=7" })),
      h("li", {}, "The tenant appears here by itself. Open it, and label what waits in its review queue. Or send labels:",
        line("/feedback", { tenant: "links", url: "http://login.example.org/account/verify?id=7", label: 1 })),
      h("li", {}, "Look at the overview: it shows how good the verdicts are, and what is missing to know it.")),
    h("p", { class: "muted small" }, "To see it work without data of your own, run ", h("code", {}, "sluice demo"), ". ",
      h("a", { href: `${context.api}/docs` }, "All routes of the HTTP API")));
}
