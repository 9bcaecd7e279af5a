// Quality of labels: how far people agree, whose labels differ, and blind second reviews.

import { context, get, tenantPath } from "../core/api.js";
import { byId, empty, fill } from "../core/dom.js";
import { count, iso } from "../core/format.js";
import { BlindReviews } from "../quality/blind.js";
import { overallCard } from "../quality/kappa.js";
import { matrix, pointedOut, rows } from "../quality/people.js";

const DAY = 86_400_000;
const period = byId("period");
let loading;

async function load() {
  loading?.abort();
  loading = new AbortController();
  const days = Number(period.value);
  const since = days ? iso(Math.floor((Date.now() - days * DAY) / 60_000) * 60_000) : undefined;
  try {
    draw(await get(tenantPath("/moderators"), { since }, { signal: loading.signal }), since);
  } catch (error) {
    if (error.name !== "AbortError") fill(byId("pointed"), empty("The figures cannot be shown", error.message));
  }
}

function draw(found, since) {
  fill(byId("pointed"), pointedOut(found, since));
  fill(byId("agreement"), overallCard(found.overall));
  fill(byId("people-rows"), rows(found));
  byId("people").hidden = found.moderators.length === 0;
  fill(byId("people-none"), found.moderators.length === 0 && empty("No labels of anybody who is named",
    "Labels count here once they are given with a key, or with the name of a moderator."));
  const table = matrix(found);
  byId("pairs").hidden = table === null;
  fill(byId("matrix"), table);
  byId("read").textContent = `${found.has_more ? "The newest " : ""}${count(found.labels)} ${found.labels === 1 ? "label" : "labels"}`
    + (found.unnamed ? `, ${count(found.unnamed)} of nobody who is named` : "");
}

period.value = new URLSearchParams(location.search).get("days") || "";
if (period.selectedIndex < 0) period.value = "";
period.addEventListener("change", () => {
  history.replaceState(null, "", location.pathname + (period.value ? `?days=${period.value}` : ""));
  load();
});
load();
const blind = byId("blind");
if (blind && context.roles.has("feedback")) new BlindReviews(blind, { done: load }).count();
