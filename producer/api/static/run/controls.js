// Pause, resume, cancel, retune, and taking results along; only for those who may.

import { runPath } from "../api.js";
import { el, update } from "../dom.js";
import { RetuneForm } from "./retune.js";

const OPEN = new Set(["queued", "running", "paused"]);

export class Controls {
  constructor(page) {
    this.page = page;
    this.buttons = {
      pause: this.button("Pause", () => this.ask("pause")),
      resume: this.button("Resume", () => this.ask("resume"), "primary"),
      retune: this.button("Retune", () => this.retune()),
      cancel: this.button("Cancel", () => this.confirmCancel(), "danger"),
      report: this.button("Report", () => this.take("/report", "report.html"), "quiet"),
      export: this.button("Export", () => this.take("/export?records=true", "export.zip"), "quiet"),
    };
    this.note = el("p", { class: "small soft" });
    this.element = el("div", {}, el("div", { class: "actions", role: "group", "aria-label": "This run" }, Object.values(this.buttons)), this.note);
    this.form = new RetuneForm(page, (retuning) => this.send(() => page.api.patch(runPath(page.run), retuning)));
    for (const button of Object.values(this.buttons)) button.hidden = true;
  }

  button(words, act, kind = "") {
    const button = el("button", { type: "button", class: kind }, words);
    button.addEventListener("click", act);
    return button;
  }

  show(status) {
    const { phase, owner } = status.row;
    const { role, owner: mine } = this.page.session.me;
    const may = role === "admin" || (role === "runner" && owner === mine);
    const open = OPEN.has(phase);
    const { buttons } = this;
    buttons.pause.hidden = !may || !open || phase === "paused";
    buttons.resume.hidden = !may || phase !== "paused";
    buttons.retune.hidden = buttons.cancel.hidden = !may || !open;
    buttons.report.hidden = buttons.export.hidden = false;
    update(this.note, open && !may ? "You can look at this run; its owner or an admin can change it." : "");
  }

  ask(action) {
    return this.send(() => this.page.api.post(runPath(this.page.run, `/${action}`)));
  }

  confirmCancel() {
    const dialog = el("dialog", { class: "retune", "aria-labelledby": "cancel-title" },
      el("h2", { id: "cancel-title" }, "Cancel this run?"),
      el("p", { class: "lead" }, "Its calls stop, and it cannot be continued. What it has found so far stays."),
      el("form", { method: "dialog", class: "actions" },
        el("button", { class: "danger", value: "yes" }, "Cancel the run"),
        el("button", { value: "no", autofocus: true }, "Keep it going")));
    document.body.append(dialog);
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (dialog.returnValue === "yes") this.ask("cancel");
    });
    dialog.showModal();
  }

  retune() {
    this.form.open(this.page.status);
  }

  async take(path, name) {
    try {
      await this.page.api.download(runPath(this.page.run, path), `${this.page.run}-${name}`);
    } catch (error) {
      this.page.complain(error);
    }
  }

  /** Send a request and say what came of it; the status that follows shows it. */
  async send(request) {
    this.lock(true);
    try {
      const reply = await request();
      this.page.session.say(reply.words);
      this.page.problem.hidden = true;
      await this.page.fetchStatus();
    } catch (error) {
      this.page.complain(error);
    } finally {
      this.lock(false);
    }
  }

  lock(locked) {
    for (const button of Object.values(this.buttons)) button.disabled = locked;
  }

  close() {
    this.form.close();
  }
}
