// The list of runs, brought up to date every few seconds.

import { el, update } from "../dom.js";
import * as format from "../format.js";
import { to } from "../routes.js";
import { pause } from "../stream.js";

const EVERY_MS = 3000;
const PHASES = ["queued", "running", "paused", "finished", "cancelled"];

export class RunsPage {
  title = "Runs";

  constructor(session) {
    this.session = session;
    this.stop = new AbortController();
    this.table = el("div", { class: "card" }, el("p", { class: "empty" }, "Loading…"));
    this.lead = el("p", { class: "lead" });
    this.problem = el("p", { class: "notice warn", role: "status", hidden: true });
    this.phase = el("select", { id: "phase" },
      el("option", { value: "" }, "Any state"),
      PHASES.map((phase) => el("option", { value: phase }, capital(phase))));
    this.owner = el("input", { id: "owner", placeholder: "Anyone", autocomplete: "off", spellcheck: "false" });
    this.label = el("input", { id: "label", placeholder: "key=value", autocomplete: "off", spellcheck: "false" });
    for (const field of [this.phase, this.owner, this.label]) {
      field.addEventListener("change", () => this.refresh());
    }
    this.element = el("div", { class: "stack" },
      el("div", { class: "page-head" },
        el("div", {}, el("h1", {}, "Runs"), this.lead),
        el("form", { class: "filters", role: "search", "aria-label": "Filter runs" },
          field("State", this.phase), field("Owner", this.owner), field("Label", this.label))),
      this.problem, this.table);
    this.element.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.refresh();
    });
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
    const query = new URLSearchParams({ limit: "200" });
    if (this.phase.value) query.set("phase", this.phase.value);
    if (this.owner.value.trim()) query.set("owner", this.owner.value.trim());
    if (this.label.value.trim()) query.set("label", this.label.value.trim());
    try {
      const rows = await this.session.api.get(`runs?${query}`, { signal: this.stop.signal });
      this.problem.hidden = true;
      this.draw(rows);
    } catch (error) {
      if (this.stop.signal.aborted) return;
      update(this.problem, error.message);
      this.problem.hidden = false;
    }
  }

  draw(rows) {
    const going = rows.filter((row) => row.phase === "running" || row.phase === "queued").length;
    update(this.lead, `${format.plural(rows.length, "run")}, ${going} under way`);
    if (!rows.length) {
      update(this.table, el("p", { class: "empty" }, "No run to show. Submit one with ", el("code", {}, "skillopt submit SPEC"), "."));
      return;
    }
    update(this.table, el("div", { class: "scroll" },
      el("table", { class: "cards" },
        el("caption", { class: "visually-hidden" }, "Runs, newest first"),
        el("thead", {}, el("tr", {},
          ["Run", "State", "Owner"].map((name) => el("th", { scope: "col" }, name)),
          ["Step", "Score", "Spent", "Left"].map((name) => el("th", { scope: "col", class: "number" }, name)))),
        el("tbody", {}, rows.map(row)))));
  }
}

function row(run) {
  const waiting = run.position === null ? "" : ` · place ${run.position}`;
  return el("tr", { "data-key": run.run },
    el("th", { scope: "row", class: "full" },
      el("a", { class: "run-name", href: to("runs", run.run) }, run.name),
      el("div", { class: "soft small" }, `${run.run} · ${format.moment(run.created_at)}`),
      labels(run.labels)),
    el("td", { class: "words full" },
      el("span", { class: `badge ${run.phase}` }, run.phase),
      el("div", { class: "small soft" }, run.words)),
    el("td", { "data-label": "Owner" }, run.owner,
      el("div", { class: "small soft" }, `${run.team ? `${run.team} · ` : ""}${run.priority}${waiting}`)),
    el("td", { class: "number", "data-label": "Step" }, steps(run)),
    el("td", { class: "number", "data-label": "Score" },
      `${format.score(run.initial_score)} → ${format.score(run.best_score)}`),
    el("td", { class: "number", "data-label": "Spent" }, format.dollars(run.spent.usd),
      el("div", { class: "small soft" }, format.plural(run.spent.calls, "call"))),
    el("td", { class: "number", "data-label": "Left" },
      run.phase === "running" ? format.duration(run.eta_s) : format.UNKNOWN));
}

export function steps(run) {
  return run.steps_planned === null ? String(run.step) : `${run.step} of ${run.steps_planned}`;
}

export function labels(given) {
  return Object.entries(given).map(([key, value]) => el("span", { class: "badge plain" }, `${key}=${value}`));
}

function field(words, input) {
  return el("div", { class: "field" }, el("label", { for: input.id }, words), input);
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}
