// The document: what each step changed, and where each line of the best one comes from.

import { runPath } from "../api.js";
import { el, update } from "../dom.js";
import * as format from "../format.js";

const VIEWS = [["diff", "Changes"], ["blame", "Where lines come from"]];

export class DocumentPart {
  constructor(page) {
    this.page = page;
    this.view = "diff";
    this.tabs = VIEWS.map(([name, words]) => {
      const tab = el("button", { type: "button", role: "tab", class: "quiet", id: `tab-${name}`, "aria-controls": "document-view" }, words);
      tab.addEventListener("click", () => this.turnTo(name));
      tab.addEventListener("keydown", (event) => this.onArrow(event));
      return tab;
    });
    this.choice = el("select", { id: "document-step" }, el("option", { value: "best" }, "initial to best"));
    this.choice.addEventListener("change", () => this.load());
    this.field = el("div", { class: "tabs" }, el("label", { for: "document-step", class: "small" }, "Change of"), this.choice);
    this.body = el("div", { id: "document-view", role: "tabpanel", tabindex: "0" });
    this.element = el("div", { class: "stack" },
      el("div", { class: "card-head no-print" }, el("div", { class: "tabs", role: "tablist", "aria-label": "Document" }, this.tabs), this.field),
      this.body);
    this.markTabs();
  }

  /** Offer every candidate that there is; look again if the one that is shown may have changed. */
  show(points, gates) {
    const outcome = new Map(gates.map((gate) => [gate.label, gate.outcome]));
    const labels = [...new Set([...points.map((point) => point.label), ...outcome.keys()])].filter((label) => outcome.has(label));
    update(this.choice,
      el("option", { value: "best", "data-key": "best" }, "initial to best"),
      labels.map((label) => el("option", { value: label, "data-key": label }, `${format.place(label)} (${outcome.get(label)})`)));
    const best = gates.filter((gate) => gate.new_best).at(-1)?.label ?? "";
    if (best !== this.best && this.page.status !== null) this.load();
    this.best = best;
  }

  turnTo(view) {
    this.view = view;
    this.markTabs();
    this.load();
  }

  onArrow(event) {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const next = VIEWS[(VIEWS.findIndex(([name]) => name === this.view) + 1) % VIEWS.length][0];
    this.turnTo(next);
    this.tabs[VIEWS.findIndex(([name]) => name === next)].focus();
  }

  markTabs() {
    VIEWS.forEach(([name], index) => {
      this.tabs[index].setAttribute("aria-selected", String(name === this.view));
      this.tabs[index].tabIndex = name === this.view ? 0 : -1;
    });
    this.body.setAttribute("aria-labelledby", `tab-${this.view}`);
    this.field.hidden = this.view !== "diff";
  }

  async load() {
    const asked = `${this.view} ${this.choice.value}`;
    this.asked = asked;
    try {
      const drawn = this.view === "diff" ? await this.diff(this.choice.value) : await this.blame();
      if (this.asked === asked) update(this.body, drawn);
    } catch (error) {
      if (!this.page.stop.signal.aborted && this.asked === asked) update(this.body, el("p", { class: "empty" }, error.message));
    }
  }

  async diff(label) {
    const page = await this.page.api.get(runPath(this.page.run, `/diff?label=${encodeURIComponent(label)}`), { signal: this.page.stop.signal });
    if (!page.lines.length) return el("p", { class: "empty" }, `${page.before} and ${page.after} are the same.`);
    return el("div", { class: "code", role: "group", "aria-label": `Changes from ${page.before} to ${page.after}` }, page.lines.map(line));
  }

  async blame() {
    const lines = await this.page.api.get(runPath(this.page.run, "/blame"), { signal: this.page.stop.signal });
    if (!lines.length) return el("p", { class: "empty" }, "The document is empty.");
    return el("div", { class: "scroll" }, el("table", { class: "blame" },
      el("caption", { class: "visually-hidden" }, "Lines of the best document with the step that brought them"),
      el("thead", {}, el("tr", {},
        el("th", { scope: "col", class: "number" }, "Line"), el("th", { scope: "col" }, "Text"),
        el("th", { scope: "col" }, "From"), el("th", { scope: "col", class: "number" }, "Gain"))),
      el("tbody", {}, lines.map(blamed))));
  }
}

function line(text) {
  const isName = /^(---|\+\+\+) /.test(text);
  const kind = isName || text.startsWith("@@") ? "place" : text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "";
  return el("div", { class: kind || null }, text || " ");
}

function blamed(one) {
  const from = one.step === 0 ? "as given" : `${one.source === "slow_update" ? "epoch end after " : ""}step ${one.step}`;
  const tasks = one.tasks.length ? ` from ${one.tasks.slice(0, 3).join(", ")}${one.tasks.length > 3 ? ` and ${one.tasks.length - 3} more` : ""}` : "";
  return el("tr", {},
    el("td", { class: "number soft" }, one.document === "memory" ? `m${one.number}` : one.number),
    el("td", { class: "text" }, one.text),
    el("td", { class: "soft small" }, from, el("span", { class: "optional" }, tasks)),
    el("td", { class: "number" }, one.gain === null ? "" : `${one.gain >= 0 ? "+" : "−"}${Math.abs(one.gain).toFixed(3)}`));
}
