// What the review queue and its problems mean, in words.

import { count, percent } from "../core/format.js";

export const KINDS = {
  anomaly: { label: 1, said: "anomaly", title: "Anomaly" },
  normal: { label: -1, said: "normal", title: "Normal" },
  unsure: { said: "unsure", title: "Unsure" },
  skip: { said: "skipped", title: "Skip" },
};

const REASONS = {
  uncertain: "The model is unsure about it",
  flagged: "The model flags it as an anomaly",
  random: "A random sample, to measure accuracy",
  unknown: "The model has no opinion yet",
};

export const whyQueued = (item) => REASONS[item.review_reason] || "It was chosen for review";

/** Say which share of such items people are shown; null if it is all of them. */
export function chanceOf(item) {
  if (!item.chosen_with || item.chosen_with >= 1) return null;
  return `${percent(item.chosen_with, item.chosen_with < 0.1 ? 1 : 0)} of such items`;
}

/** Say what has become of a decision that the service refused. */
export function refusal(error, said) {
  const begin = said ? `“${said}” was not stored. ` : "";
  switch (error.type) {
    case "prediction-expired":
      return `${begin}The item is not kept any more, so it cannot be labelled.`;
    case "lease-lost":
      return "Nothing to record: the item has left your hands. It was labelled, or somebody else has it now.";
    case "feedback-conflict":
      return `${begin}Its id was used for another label. Decide again.`;
    case "unknown-label":
      return "There was no label to take back.";
    case "label-too-old":
      return "The label is too old to be taken back.";
    case "not-this-moderator":
    case "forbidden":
      return `${begin}${error.message}`;
    default:
      return `${begin}${error.message}${error.requestId ? ` (request ${error.requestId})` : ""}`;
  }
}

/** Say why decisions wait to be sent. */
export function waiting(error, unsent) {
  const what = unsent === 1 ? "1 decision waits" : `${count(unsent)} decisions wait`;
  if (error.status === 429) return `Too many at once: ${what} a moment`;
  return `No connection: ${what}`;
}
