// Who works here: the name that the key carries, or the one that this browser remembers.

import { context } from "./api.js";

const REMEMBERED = "sluice-moderator";

export function moderator() {
  const own = context.speaksForOthers ? localStorage.getItem(REMEMBERED) : null;
  return own || context.moderator;
}

export function setModerator(name) {
  if (name) localStorage.setItem(REMEMBERED, name);
  else localStorage.removeItem(REMEMBERED);
}

/** The field of a request that names the moderator; absent where the key carries the name. */
export function asModerator(field = "moderator") {
  const name = moderator();
  return name && name !== context.moderator ? { [field]: name } : {};
}
