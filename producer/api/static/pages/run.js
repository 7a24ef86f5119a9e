// One run, live: its parts are drawn from what the API tells, and again whenever that changes.

import { ApiError, runPath } from "../api.js";
import { el, update } from "../dom.js";
import { Controls } from "../run/controls.js";
import { curve } from "../run/curve.js";
import { DocumentPart } from "../run/document.js";
import { eventList } from "../run/events.js";
import { GatesPart } from "../run/gates.js";
import { figures, heading } from "../run/head.js";
import { money } from "../run/money.js";
import { now, stages } from "../run/progress.js";
import { RecordDialog } from "../run/record.js";
import { to } from "../routes.js";
import { follow, pause } from "../stream.js";

const EVENTS_AT_ONCE = 1000;
/** What changes the curve, a gate or a document. */
const DECISIVE = new Set(["measured", "reflected", "proposed", "skipped", "gated", "finished"]);
const ENDED = new Set(["finished", "cancelled"]);

export class RunPage {
  constructor(session, run) {
    this.session = session;
    this.api = session.api;
    this.run = run;
    this.title = run;
    this.stop = new AbortController();
    this.status = null;
    this.events = [];
    this.points = [];
    this.live = false;
    this.address = [];
    this.controls = new Controls(this);
    this.gates = new GatesPart(this);
    this.document = new DocumentPart(this);
    this.dialog = new RecordDialog(this);
    this.lay();
    this.load();
  }

  lay() {
    const part = (name, title, extra = "") => {
      const box = el("div", { class: "part-body" }, el("p", { class: "empty" }, "Loading…"));
      const aside = el("div", { class: "small soft" });
      const card = el("section", { class: `card ${extra}`, "aria-labelledby": `${name}-title` },
        el("div", { class: "card-head" }, el("h2", { id: `${name}-title` }, title), aside), box);
      return { card, box, aside };
    };
    this.head = el("div", {}, el("h1", {}, this.run));
    this.figures = el("dl", { class: "figures", "aria-label": "Key figures" });
    this.problem = el("p", { class: "notice bad", role: "alert", hidden: true });
    this.warnings = el("div", { class: "stack" });
    this.announced = el("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
    this.parts = {
      curve: part("curve", "Score by step"),
      now: part("now", "Now"),
      money: part("money", "Spend"),
      stages: part("stages", "Stages"),
      gates: part("gates", "Gate decisions", "long"),
      document: part("document", "Document", "long"),
      events: part("events", "Events", "long"),
    };
    const cards = Object.fromEntries(Object.entries(this.parts).map(([name, { card }]) => [name, card]));
    this.parts.gates.box.replaceChildren(this.gates.element);
    this.parts.document.box.replaceChildren(this.document.element);
    this.element = el("div", { class: "stack" },
      el("div", { class: "page-head" }, this.head, this.controls.element),
      this.problem, this.announced, this.figures, this.warnings,
      el("div", { class: "columns wide-left" },
        el("div", { class: "stack" }, cards.curve, cards.stages),
        el("div", { class: "stack" }, cards.now, cards.money)),
      cards.gates, cards.document, cards.events);
    this.resized = new ResizeObserver(() => this.drawCurve());
    this.resized.observe(this.parts.curve.box);
  }

  close() {
    this.stop.abort();
    this.resized.disconnect();
    this.dialog.close();
    this.controls.close();
  }

  /** Take an address within this run: a gate to show, or a record to open. */
  go(address) {
    this.address = address;
    const [kind, ...rest] = address;
    if (kind === "gate") this.gates.choose(rest[0]);
    if (["call", "task", "event"].includes(kind)) this.dialog.open(kind, rest);
    else this.dialog.close();
  }

  get ended() {
    return this.status !== null && ENDED.has(this.status.row.phase);
  }

  async load() {
    const { signal } = this.stop;
    while (!signal.aborted) {
      try {
        await Promise.all([this.fetchStatus(), this.fetchDecisions(), this.fetchEvents()]);
        break;
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        this.complain(error);
        if ([401, 403, 404].includes(error.status)) return;
        await pause(3000, signal);
      }
    }
    this.problem.hidden = true;
    this.document.load();
    await follow(this.api, this.run, {
      after: this.events.at(-1)?.seq ?? 0,
      onEvent: (row) => this.take(row),
      onStatus: (status) => this.show(status),
      onLive: (live) => this.showLive(live),
      ended: () => this.ended,
      signal,
    });
  }

  async fetchStatus() {
    this.show(await this.api.get(runPath(this.run), { signal: this.stop.signal }));
  }

  async fetchDecisions() {
    const { signal } = this.stop;
    const [points, gates] = await Promise.all([
      this.api.get(runPath(this.run, "/curve"), { signal }),
      this.api.get(runPath(this.run, "/gates"), { signal }),
    ]);
    this.points = points;
    this.drawCurve();
    this.gates.show(gates);
    this.document.show(points, gates);
  }

  async fetchEvents() {
    for (;;) {
      const after = this.events.at(-1)?.seq ?? 0;
      const rows = await this.api.get(runPath(this.run, `/events?after=${after}&limit=${EVENTS_AT_ONCE}`), { signal: this.stop.signal });
      this.events.push(...rows);
      if (rows.length < EVENTS_AT_ONCE) break;
    }
    this.drawEvents();
  }

  take(row) {
    this.events.push(row);
    this.drawEvents();
    update(this.announced, row.words);
    if (DECISIVE.has(row.type)) this.refreshSoon();
  }

  /** Ask for curve and gates once for events that come together. */
  refreshSoon() {
    clearTimeout(this.refreshing);
    this.refreshing = setTimeout(async () => {
      try {
        await this.fetchDecisions();
      } catch (error) {
        if (!this.stop.signal.aborted) this.complain(error);
      }
    }, 120);
  }

  show(status) {
    this.status = status;
    this.title = status.row.name;
    document.title = `${status.row.name} · SkillOpt Fleet`;
    update(this.head, heading(status.row));
    update(this.figures, figures(status));
    update(this.warnings, status.warnings.map((words) => el("p", { class: "notice warn" }, words)));
    update(this.parts.now.box, now(status));
    update(this.parts.money.box, money(status));
    update(this.parts.stages.box, stages(status));
    this.controls.show(status);
    this.showLive(this.live);
  }

  showLive(live) {
    this.live = live;
    const words = this.ended ? "complete" : live ? "live" : "connecting…";
    const state = this.ended ? "" : live ? "on" : "off";
    update(this.parts.events.aside, el("span", { class: `live ${state}` }, words));
  }

  drawCurve() {
    const width = this.parts.curve.box.clientWidth;
    if (width) update(this.parts.curve.box, curve(this.points, width, (label) => to("runs", this.run, "gate", label)));
  }

  drawEvents() {
    update(this.parts.events.box, eventList(this.events, (seq) => to("runs", this.run, "event", seq)));
  }

  complain(error) {
    update(this.problem, error.message);
    this.problem.hidden = false;
  }
}
