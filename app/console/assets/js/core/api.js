// Requests to the HTTP API. A browser sends the session's cookie by itself.

const body = document.body.dataset;
export const context = {
  root: body.root,
  api: body.api,
  tenant: body.tenant || "",
  roles: new Set((body.roles || "").split(" ")),
  key: body.key || "",
  moderator: body.moderator || "",
  speaksForOthers: body.speaksForOthers === "true",
  isSignedOut: false, // the session has ended, and the page is being left
};

/** An error that the service has answered with, as application/problem+json. */
export class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The service answered ${status}.`);
    this.status = status;
    this.type = (problem.type || "").replace("/problems/", "");
    this.title = problem.title || "";
    this.requestId = problem.request_id || "";
    this.retryAfter = 0;
  }

  /** Whether the same request may succeed if it is sent again. */
  get isTransient() {
    return [0, 429, 502, 503, 504].includes(this.status);
  }
}

export function tenantPath(path = "", tenant = context.tenant) {
  return `/tenants/${encodeURIComponent(tenant)}${path}`;
}

/** Say that there is no answer, or only a part of one: the connection broke. */
function unanswered(error) {
  if (error.name === "AbortError") throw error;
  throw new Problem(0, { title: "No connection", detail: "The service cannot be reached." });
}

/** Send a request; return the answer's JSON, or null without a body. Throws Problem. */
export async function request(method, path, { json, query, signal } = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {})) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  const headers = { "x-requested-by": "console", accept: "application/json" };
  if (json !== undefined) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(context.api + path + (text ? `?${text}` : ""), {
      method,
      headers,
      signal,
      body: json === undefined ? undefined : JSON.stringify(json),
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    unanswered(error);
  }
  if (answer.ok) return answer.status === 204 ? null : answer.json().catch(unanswered);
  const problem = new Problem(answer.status, await answer.json().catch(() => ({})));
  problem.retryAfter = Number(answer.headers.get("retry-after")) || 0;
  if (answer.status === 401 && document.body.dataset.page) signInAgain();
  throw problem;
}

export const get = (path, query, options) => request("GET", path, { query, ...options });
export const post = (path, json, options) => request("POST", path, { json, ...options });
export const put = (path, json, options) => request("PUT", path, { json, ...options });
export const remove = (path, options) => request("DELETE", path, options);

/** Send a request until it is answered, as long as that makes sense: for what must not be lost. It must be idempotent. */
export async function persistently(send, { onWait = () => {}, signal } = {}) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof Problem) || !error.isTransient || signal?.aborted) throw error;
      onWait(error, attempt);
      const seconds = Math.min(Math.max(error.retryAfter, 0.25 * 2 ** attempt), 8) * (0.75 + Math.random() / 2);
      await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    }
  }
}

export function signInAgain() {
  context.isSignedOut = true;
  const here = location.pathname + location.search;
  location.assign(`${context.root}/sign-in?next=${encodeURIComponent(here)}`);
}

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
}
