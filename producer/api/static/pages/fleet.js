// The fleet: backends with their limits and what holds them up, workers, and dead jobs.

import { ApiError } from "../api.js";
import { el, update } from "../dom.js";
import * as format from "../format.js";
import { to } from "../routes.js";
import { bar } from "../run/progress.js";
import { pause } from "../stream.js";

const EVERY_MS = 3000;

export class FleetPage {
  title = "Fleet";

  constructor(session) {
    this.session = session;
    this.stop = new AbortController();
    this.lead = el("p", { class: "lead" });
    this.problem = el("p", { class: "notice warn", role: "status", hidden: true });
    this.figures = el("dl", { class: "figures", "aria-label": "Key figures" });
    this.backends = part("backends", "Backends");
    this.workers = part("workers", "Workers");
    this.dead = part("dead", "Dead jobs");
    this.element = el("div", { class: "stack" },
      el("div", { class: "page-head" }, el("div", {}, el("h1", {}, "Fleet"), this.lead)),
      this.problem, this.figures, this.backends.card, this.workers.card, this.dead.card);
    this.keepFresh();
  }

  close() {
    this.stop.abort();
  }

  async keepFresh() {
    while (!this.stop.signal.aborted) {
      if (!document.hidden) await this.refresh();
      await pause(EVERY_MS, this.stop.signal);
    }
  }

  async refresh() {
    const { signal } = this.stop;
    try {
      const [fleet, dead] = await Promise.all([
        this.session.api.get("fleet", { signal }),
        this.session.api.get("dead", { signal }),
      ]);
      this.problem.hidden = true;
      this.draw(fleet, Array.isArray(dead) ? dead : dead.jobs);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      update(this.problem, error.message);
      this.problem.hidden = false;
    }
  }

  draw(fleet, dead) {
    const waiting = fleet.backends.filter((backend) => backend.waiting).length;
    update(this.lead, waiting ? `${format.plural(waiting, "backend")} held up now` : "Nothing is held up.");
    const slots = sum(fleet.backends, "capacity");
    update(this.figures, [
      ["Runs under way", format.count(fleet.running_runs), `${format.count(fleet.queued_runs)} queued`],
      ["Jobs in flight", format.count(sum(fleet.backends, "in_flight")), `of ${format.plural(slots, "slot")}`],
      ["Jobs waiting", format.count(sum(fleet.backends, "queued")), oldest(fleet.backends)],
      ["Workers", format.count(fleet.workers.length), format.plural(fleet.coordinators, "coordinator")],
      ["Dead jobs", format.count(fleet.dead_jobs), fleet.dead_jobs ? "listed below" : "none"],
      ["Redis memory", format.bytes(fleet.redis_memory_bytes), "in use"],
    ].map(([name, value, note]) => el("div", { class: "figure", "data-key": name }, el("dt", {}, name), el("dd", {}, value, el("span", { class: "note" }, note)))));
    update(this.backends.box, backendTable(fleet.backends));
    update(this.workers.box, workerTable(fleet.workers));
    update(this.dead.box, deadTable(dead));
  }
}

function part(name, title) {
  const box = el("div", {}, el("p", { class: "empty" }, "Loading…"));
  return { box, card: el("section", { class: "card", "aria-labelledby": `${name}-title` }, el("div", { class: "card-head" }, el("h2", { id: `${name}-title` }, title)), box) };
}

function backendTable(backends) {
  if (!backends.length) return el("p", { class: "empty" }, "No worker has announced a backend. Start one with ", el("code", {}, "skillopt worker --backend NAME"), ".");
  return table("Backends", ["Backend", "In flight", "Waiting", "Limits", "Breaker", "Why calls wait"], backends.map((one) => el("tr", { "data-key": one.name },
    el("th", { scope: "row", class: "full" }, el("span", { class: "run-name" }, one.name),
      el("div", { class: "small soft" }, one.workers ? format.plural(one.workers, "worker") : "no worker")),
    el("td", { "data-label": "In flight" }, el("div", { class: "bar-row" },
      el("span", { class: "nowrap" }, `${one.in_flight} of ${one.capacity}`),
      el("span", { class: "small soft" }, one.allowed === null ? "" : `${one.allowed} allowed now`),
      bar(one.capacity ? one.in_flight / one.capacity : 0))),
    el("td", { "data-label": "Waiting" }, format.count(one.queued),
      el("div", { class: "small soft nowrap" }, one.queue_age_s === null ? "" : `oldest ${format.duration(one.queue_age_s)}`)),
    el("td", { "data-label": "Limits" }, limitWords(one.limits) || "none",
      limitWords(one.set_limits) && el("div", { class: "small soft" }, `set live: ${limitWords(one.set_limits)}`)),
    el("td", { "data-label": "Breaker" }, one.breaker ? el("span", { class: `badge ${one.breaker.split(" ")[0]}` }, one.breaker) : format.UNKNOWN),
    el("td", { class: "words full", "data-label": "Why calls wait" }, one.waiting || "nothing holds it up"))));
}

function limitWords(limits) {
  return Object.entries(limits).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${format.count(value)}`).join(", ");
}

function workerTable(workers) {
  if (!workers.length) return el("p", { class: "empty" }, "No worker is running.");
  return table("Workers", ["Worker", "Backend", "Slots", "Lane", "Version"], workers.map((one) => el("tr", { "data-key": one.worker },
    el("th", { scope: "row", class: "full words" }, one.worker),
    el("td", { "data-label": "Backend" }, one.backend), el("td", { "data-label": "Slots" }, format.count(one.capacity)),
    el("td", { "data-label": "Lane" }, one.lane), el("td", { "data-label": "Version" }, one.version))));
}

function deadTable(jobs) {
  if (!jobs.length) return el("p", { class: "empty" }, "No job is dead or given up.");
  return table("Dead jobs", ["Job", "Run", "What happened", "Since"], jobs.map((one) => el("tr", { "data-key": `${one.job} ${one.run}` },
    el("th", { scope: "row", class: "full" }, el("code", {}, one.job.slice(0, 16)), el("div", { class: "small soft" }, one.label)),
    el("td", { "data-label": "Run" }, one.run ? el("a", { href: to("runs", one.run) }, one.run) : format.UNKNOWN),
    el("td", { class: "words full", "data-label": "What happened" }, one.reason, el("div", { class: "small soft" }, one.dead ? "not sent again by itself" : "given up for now")),
    el("td", { "data-label": "Since" }, one.at === null ? format.UNKNOWN : format.moment(one.at)))));
}

function table(caption, columns, rows) {
  return el("div", { class: "scroll" }, el("table", { class: "cards" },
    el("caption", { class: "visually-hidden" }, caption),
    el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows)));
}

function sum(rows, name) {
  return rows.reduce((total, row) => total + row[name], 0);
}

function oldest(backends) {
  const ages = backends.map((backend) => backend.queue_age_s).filter((age) => age !== null);
  return ages.length ? `oldest ${format.duration(Math.max(...ages))}` : "nothing waits";
}
