// Each gate: its verdict and reasons, both arms task by task, and the calls behind the candidate.

import { runPath } from "../api.js";
import { el, update } from "../dom.js";
import * as format from "../format.js";
import { to } from "../routes.js";

const CALLS = 500;

export class GatesPart {
  constructor(page) {
    this.page = page;
    this.gates = [];
    /** The gate a person chose; null: the latest. */
    this.chosen = null;
    this.calls = new Map();
    this.list = el("nav", { class: "gate-list", "aria-label": "Gates" });
    this.detail = el("div", { class: "gate", "aria-live": "off" });
    this.element = el("div", { class: "gates" }, this.list, this.detail);
    this.draw();
  }

  show(gates) {
    this.gates = gates;
    this.draw();
  }

  choose(label) {
    this.chosen = label;
    this.draw();
  }

  get current() {
    return this.gates.find((gate) => gate.label === this.chosen) ?? this.gates.at(-1);
  }

  draw() {
    if (!this.gates.length) {
      update(this.list);
      update(this.detail, el("p", { class: "empty" }, "No candidate has been measured yet."));
      return;
    }
    const gate = this.current;
    update(this.list, [...this.gates].reverse().map((one) => this.entry(one, one === gate)));
    update(this.detail, this.whole(gate));
    this.fetchCalls(gate);
  }

  entry(gate, current) {
    return el("a", { href: to("runs", this.page.run, "gate", gate.label), "aria-current": current ? "true" : null, "data-key": gate.label },
      el("strong", {}, format.place(gate.label)),
      verdict(gate),
      el("span", { class: "small soft" }, moved(gate)));
  }

  whole(gate) {
    return [
      el("div", { class: "card-head" }, el("h3", {}, format.place(gate.label)), verdict(gate)),
      el("div", { class: "reasons" },
        el("p", { class: "verdict" }, gate.reason),
        gate.sentences.filter((sentence) => !sentence.startsWith("Verdict: ")).map((sentence) => el("p", {}, sentence))),
      gate.tasks.length > 0 && el("div", { class: "scroll" },
        el("table", { class: "gate-tasks" },
          el("caption", { class: "visually-hidden" }, `Tasks of ${format.place(gate.label)}; a score opens its record`),
          el("thead", {}, el("tr", {},
            ["Task", "Current", "Candidate", "Why"].map((name) => el("th", { scope: "col" }, name)))),
          el("tbody", {}, inOrder(gate.tasks).map((task) => this.task(task))))),
      el("h3", {}, "Optimizer calls"),
      this.callList(gate),
    ];
  }

  task(task) {
    return el("tr", { "data-key": task.task },
      el("th", { scope: "row" }, el("a", { href: to("runs", this.page.run, "task", task.task) }, task.task)),
      el("td", {}, this.cell(task.current, plain(task.current), task.current_records, `${task.task}, current`)),
      el("td", {}, this.cell(task.candidate, tone(task), task.candidate_records, `${task.task}, candidate, ${task.change}`)),
      el("td", { class: "feedback" }, task.feedback || words(task.change)));
  }

  cell(value, kind, records, name) {
    const shown = format.score(value);
    if (!records.length) return el("span", { class: `cell ${kind}` }, shown);
    return el("a", { class: `cell ${kind}`, href: to("runs", this.page.run, "call", ...records), "aria-label": `${name}: ${shown}, open the record` }, shown);
  }

  callList(gate) {
    const calls = this.calls.get(gate.label);
    if (calls === undefined) return el("p", { class: "empty small" }, "Loading…");
    if (!calls.length) return el("p", { class: "empty small" }, "None is recorded yet.");
    return el("ul", { class: "calls small" }, calls.map((call) => el("li", { "data-key": call.label },
      call.job ? el("a", { href: to("runs", this.page.run, "call", call.job) }, call.label) : call.label,
      call.receipt ? el("span", { class: "soft" }, ` · ${format.duration(call.receipt.seconds)}${call.receipt.from_cache ? ", from the cache" : ""}`) : "")));
  }

  async fetchCalls(gate) {
    const known = this.calls.get(gate.label);
    if (known?.length || this.asking === gate.label) return;
    this.asking = gate.label;
    const epoch = gate.label.startsWith("e") ? Number(gate.label.slice(1)) : null;
    const of = epoch === null ? `step=${gate.step}&` : "";
    try {
      const records = await this.page.api.get(runPath(this.page.run, `/records?${of}kind=optimizer&limit=${CALLS}`), { signal: this.page.stop.signal });
      this.calls.set(gate.label, records.filter((record) => record.kind === "optimizer" && (epoch === null || record.epoch_end === epoch)));
    } catch (error) {
      if (!this.page.stop.signal.aborted) this.page.complain(error);
    } finally {
      this.asking = null;
    }
    if (this.current?.label === gate.label && this.calls.has(gate.label)) update(this.detail, this.whole(gate));
  }
}

function verdict(gate) {
  return el("span", { class: `badge ${gate.outcome.split(" ")[0]}` }, gate.new_best ? `${gate.outcome}, best` : gate.outcome);
}

function moved(gate) {
  const better = gate.tasks.filter((task) => task.change === "better").length;
  const worse = gate.tasks.filter((task) => task.change === "worse").length;
  const early = gate.early ? ", decided early" : "";
  return `${format.score(gate.current_score)} → ${format.score(gate.candidate_score)}, ${better} better, ${worse} worse${early}`;
}

/** What got worse comes first: that is what people look for. */
function inOrder(tasks) {
  const order = ["worse", "better", "invalid", "missing", "left_out", "same"];
  return [...tasks].sort((one, other) => order.indexOf(one.change) - order.indexOf(other.change));
}

function plain(value) {
  return value === 0 ? "fail" : "";
}

function tone(task) {
  return task.change === "same" ? plain(task.candidate) : task.change;
}

function words(change) {
  return { better: "better than before", worse: "worse than before", same: "as before", invalid: "cannot be scored", left_out: "left out of every comparison", missing: "no result" }[change] ?? change;
}
