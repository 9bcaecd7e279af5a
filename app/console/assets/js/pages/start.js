import { context } from "../core/api.js";
import { byId } from "../core/dom.js";

byId("go").addEventListener("submit", (event) => {
  event.preventDefault();
  location.assign(`${context.root}/tenants/${encodeURIComponent(byId("tenant").value)}/review`);
});
byId("tenant").focus();
