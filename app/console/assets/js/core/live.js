// The state of a tenant as it changes, by server-sent events. A hidden page does not listen: browsers allow few
// connections to one host, and nobody looks.

import { context, get, tenantPath } from "./api.js";

const FIRST_MILLISECONDS = 2000;
const LONGEST_MILLISECONDS = 30000;

/** Watch a tenant. `onStatus(status, text)` is told `live`, `lost` (it tries again) or `ended` (it does not). */
export function watch({ onState, onStatus = () => {} }, tenant = context.tenant) {
  let source = null;
  let timer = 0;
  let attempts = 0;
  let isOver = false;

  const close = () => { source?.close(); source = null; clearTimeout(timer); };
  const open = () => {
    close();
    if (isOver || document.hidden) return;
    source = new EventSource(context.api + tenantPath("/events", tenant));
    source.addEventListener("state", (event) => {
      attempts = 0;
      onStatus("live", "");
      onState(JSON.parse(event.data));
    });
    source.addEventListener("error", () => {
      onStatus("lost", "");
      if (source?.readyState === EventSource.CLOSED) findOutWhy();  // otherwise the browser connects again by itself
    });
  };
  /** The browser does not say what the service has answered: ask for something else. A 401 leads to the sign-in. */
  const findOutWhy = async () => {
    close();
    try {
      await get(tenantPath("/timeline", tenant), { periods: 1 });
    } catch (error) {
      if (error.status === 401) return;
      if (error.status === 403 || error.status === 404) {
        isOver = true;
        onStatus("ended", error.message);
        return;
      }
    }
    attempts += 1;
    const wait = Math.min(FIRST_MILLISECONDS * 2 ** (attempts - 1), LONGEST_MILLISECONDS) * (0.75 + Math.random() / 2);
    timer = setTimeout(open, wait);
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  open();
  return { close: () => { isOver = true; close(); } };
}
