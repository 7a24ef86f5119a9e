// A form for what may change while a run goes on; only what was changed is sent.

import { el } from "../dom.js";

const NUMBERS = [
  ["max_usd", "Most money (USD)", { min: 0, step: "any" }],
  ["max_calls", "Most calls", { min: 0, step: 1 }],
  ["max_tokens", "Most tokens", { min: 0, step: 1 }],
  ["max_minutes", "Most minutes", { min: 0.01, step: "any" }],
  ["window", "Most jobs in flight on each backend", { min: 1, max: 100_000, step: 1 }],
  ["patience", "Stop after so many steps without gain", { min: 1, step: 1 }],
  ["target_score", "Stop at this validation score", { min: 0, max: 1, step: "any" }],
];

export class RetuneForm {
  constructor(page, send) {
    this.send = send;
    this.fields = new Map();
    this.priority = el("select", { id: "retune-priority" }, ["low", "normal", "high"].map((name) => el("option", { value: name }, name)));
    const cancel = el("button", { type: "button" }, "Leave as it is");
    cancel.addEventListener("click", () => this.close());
    const form = el("form", {},
      el("h2", { id: "retune-title" }, "Retune this run"),
      el("p", { class: "lead small" }, "Takes effect at once. An empty field stays as it is."),
      el("div", { class: "fields" },
        el("div", { class: "field" }, el("label", { for: "retune-priority" }, "Priority"), this.priority),
        NUMBERS.map((number) => this.number(...number))),
      el("div", { class: "actions" }, el("button", { class: "primary" }, "Apply"), cancel));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const changed = this.changed();
      this.close();
      if (Object.keys(changed).length) this.send(changed);
    });
    this.dialog = el("dialog", { class: "retune", "aria-labelledby": "retune-title" }, form);
  }

  number(name, words, bounds) {
    const input = el("input", { id: `retune-${name}`, type: "number", inputmode: "decimal", ...bounds });
    const free = el("input", { type: "checkbox", id: `retune-${name}-free` });
    free.addEventListener("change", () => {
      input.disabled = free.checked;
    });
    this.fields.set(name, { input, free, before: null });
    return el("div", { class: "field" },
      el("label", { for: `retune-${name}` }, words),
      el("div", { class: "pair" }, input, el("label", { class: "check small" }, free, "no limit")));
  }

  open(status) {
    this.before = status.row.priority;
    this.priority.value = this.before;
    for (const [name, field] of this.fields) {
      const known = name === "window" ? status.window : status.budget[name];
      field.before = known ?? null;
      field.input.value = known ?? "";
      field.free.checked = false;
      field.input.disabled = false;
    }
    document.body.append(this.dialog);
    this.dialog.showModal();
  }

  changed() {
    const found = {};
    if (this.priority.value !== this.before) found.priority = this.priority.value;
    for (const [name, { input, free, before }] of this.fields) {
      if (free.checked) found[name] = null;
      else if (input.value !== "" && Number(input.value) !== before) found[name] = Number(input.value);
    }
    return found;
  }

  close() {
    this.dialog.close();
    this.dialog.remove();
  }
}
