// Calls to the HTTP API, with the token in a header and never in an address.

const TOKEN = "skillopt-token";

export class ApiError extends Error {
  constructor(status, code, message, fix) {
    super(fix ? `${message}. ${fix}` : message);
    this.status = status;
    this.code = code;
  }
}

export function storedToken() {
  return sessionStorage.getItem(TOKEN);
}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

export function forgetToken() {
  sessionStorage.removeItem(TOKEN);
}

export class Api {
  constructor(token, onRefused) {
    this.token = token;
    this.onRefused = onRefused;
  }

  get(path, options = {}) {
    return this.json(path, options);
  }

  post(path) {
    return this.json(path, { method: "POST" });
  }

  patch(path, body) {
    return this.json(path, {
      method: "PATCH",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
    });
  }

  async json(path, options) {
    return (await this.fetch(path, options)).json();
  }

  /** Give a response that is fine; raises ApiError for any other, also if nobody answers. */
  async fetch(path, options = {}) {
    const headers = { ...options.headers, Authorization: `Bearer ${this.token}` };
    let response;
    try {
      response = await fetch(`api/v1/${path}`, { cache: "no-store", ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, "unreachable", "the server does not answer", "It is tried again.");
    }
    if (response.ok) return response;
    const error = await errorOf(response);
    if (response.status === 401) this.onRefused(error);
    throw error;
  }

  /** Save what a path answers as a file of the person's. */
  async download(path, name) {
    const url = URL.createObjectURL(await (await this.fetch(path)).blob());
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }
}

async function errorOf(response) {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error.code, error.message, error.fix);
  } catch {
    return new ApiError(response.status, "unreadable", `the server answered ${response.status}`);
  }
}

/** Write a run's path, with what may stand in a run's name. */
export function runPath(run, rest = "") {
  return `runs/${encodeURIComponent(run)}${rest}`;
}
