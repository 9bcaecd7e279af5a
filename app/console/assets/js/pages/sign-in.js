import { context, post } from "../core/api.js";
import { byId } from "../core/dom.js";

/** Where to go afterwards: only to a page of this console. */
function next() {
  const wanted = new URLSearchParams(location.search).get("next") || "";
  const url = new URL(wanted || context.root, location.origin);
  const isOurs = url.origin === location.origin && (url.pathname === context.root || url.pathname.startsWith(`${context.root}/`));
  return isOurs ? url.pathname + url.search : context.root;
}

const form = byId("sign-in");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = byId("problem");
  problem.hidden = true;
  try {
    await post("/session", { key: byId("key").value });
    location.assign(next());
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
    byId("key").setAttribute("aria-invalid", "true");
    byId("key").select();
  }
});
byId("key").focus();
