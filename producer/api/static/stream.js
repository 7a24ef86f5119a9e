// Follows a run by server-sent events, read from a fetch: an EventSource cannot send a header.

import { runPath } from "./api.js";

const LONGEST_WAIT_MS = 10_000;

/** Cut a stream of text into its events: {id, event, data}. */
export async function* eventsIn(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let fields = { id: "", event: "message", data: [] };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (fields.data.length) yield { ...fields, data: fields.data.join("\n") };
        fields = { id: "", event: "message", data: [] };
        continue;
      }
      const [, name, content] = /^([^:]*)(?:: ?(.*))?$/.exec(line);
      if (name === "data") fields.data.push(content ?? "");
      else if (name === "id" || name === "event") fields[name] = content ?? "";
    }
  }
}

/**
 * Follow a run until `signal` aborts or `ended` says that the run is over. A connection
 * that breaks is made anew after what came last.
 */
export async function follow(api, run, { after, onEvent, onStatus, onLive, ended, signal }) {
  let last = after;
  let wait = 500;
  while (!signal.aborted && !ended()) {
    try {
      const response = await api.fetch(runPath(run, `/stream?after=${last}`), {
        headers: { Accept: "text/event-stream", "Last-Event-ID": String(last) },
        signal,
      });
      onLive(true);
      for await (const message of eventsIn(response.body)) {
        wait = 500;
        if (message.event === "event") {
          const row = JSON.parse(message.data);
          if (row.seq <= last) continue;
          last = row.seq;
          onEvent(row);
        } else if (message.event === "status") {
          onStatus(JSON.parse(message.data));
        }
      }
    } catch (error) {
      if (signal.aborted || [401, 403, 404].includes(error.status)) return;
    }
    onLive(false);
    if (!ended()) await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
