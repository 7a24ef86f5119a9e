// One call, task or event in full: what `skillopt show` prints, in a dialog with an address.

import { runPath } from "../api.js";
import { el, update } from "../dom.js";
import * as format from "../format.js";
import { to } from "../routes.js";

const OUTCOMES = {
  scored: "answered",
  model_failed: "the model failed (refused, empty or unreadable reply)",
  invalid: "invalid: the task cannot be scored",
  missing: "missing: no score, which is not a zero",
  left_out: "left out of every comparison",
};
const MICRO = 1e6;

export class RecordDialog {
  constructor(page) {
    this.page = page;
    this.dialog = document.querySelector("dialog.record");
    this.title = this.dialog.querySelector("h2");
    this.body = this.dialog.querySelector(".record-body");
    this.dialog.querySelector("[data-close]").onclick = () => this.leave();
    this.dialog.oncancel = (event) => {
      event.preventDefault();
      this.leave();
    };
    this.dialog.onclick = (event) => event.target === this.dialog && this.leave();
  }

  /** Go back to the run; what was focused before gets the focus again. */
  leave() {
    location.hash = to("runs", this.page.run);
  }

  close() {
    if (this.dialog.open) this.dialog.close();
  }

  async open(kind, address) {
    const asked = `${kind} ${address.join(" ")}`;
    this.asked = asked;
    update(this.title, { call: "Call", task: `Task ${address[0]}`, event: `Event ${address[0]}` }[kind]);
    this.body.replaceChildren(el("p", { class: "empty" }, "Loading…"));
    if (!this.dialog.open) this.dialog.showModal();
    try {
      const drawn = kind === "event" ? await this.event(Number(address[0])) : await this.records(kind, address);
      if (this.asked === asked) this.body.replaceChildren(...drawn);
    } catch (error) {
      if (this.asked === asked) this.body.replaceChildren(el("p", { class: "notice bad" }, error.message));
    }
    this.body.scrollTop = 0;
  }

  async records(kind, address) {
    const queries = kind === "task" ? [`task=${encodeURIComponent(address[0])}&limit=50`] : address.map((job) => `call=${encodeURIComponent(job)}&limit=1`);
    const found = await Promise.all(queries.map((query) => this.page.api.get(runPath(this.page.run, `/records?${query}`), { signal: this.page.stop.signal })));
    const records = found.flat();
    if (kind === "call" && records.length) update(this.title, title(records[0]));
    if (!records.length) return [el("p", { class: "empty" }, "No record is written yet: a stage's records come when it has ended.")];
    const priced = this.page.status?.row.spent.usd !== null;
    return records.map((record) => recordOf(record, priced, records.length > 1));
  }

  async event(seq) {
    const known = this.page.events.find((row) => row.seq === seq);
    const [row] = known ? [known] : await this.page.api.get(runPath(this.page.run, `/events?after=${seq - 1}&limit=1`));
    if (!row) return [el("p", { class: "empty" }, "There is no such event.")];
    return [el("p", { class: "reasons" }, row.words), el("pre", { class: "small" }, JSON.stringify(row.event, null, 2))];
  }
}

function title(record) {
  if (record.kind === "optimizer") return record.label || record.call;
  return `${record.stage}: task ${record.item}`;
}

function recordOf(record, priced, titled) {
  const isRollout = record.kind === "rollout";
  return el("article", { class: "one-record" },
    titled && el("h3", {}, title(record)),
    el("dl", { class: "facts small" }, facts(record).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("p", { class: "soft small" }, receipt(record.receipt, priced)),
    record.problem && el("p", { class: "notice warn" }, record.problem),
    isRollout && checks(record),
    el("h4", {}, "Reply", record.finish_reason ? el("span", { class: "soft" }, `, ended by ${record.finish_reason}`) : ""),
    el("div", { class: "message reply" }, el("pre", {}, record.reply === null ? "No reply is stored." : record.reply || "(empty)")),
    isRollout && record.tools_called.length > 0 && el("p", { class: "small soft" }, `Tools called: ${record.tools_called.join(", ")}`),
    el("h4", {}, "Sent"),
    record.messages === null ? el("p", { class: "empty small" }, "No messages are stored.") : withoutReply(record).map(message),
    isRollout && record.judge_receipt && judge(record, priced));
}

function facts(record) {
  const score = record.kind === "rollout" ? [["Score", `hard ${format.score(record.hard)}, soft ${format.score(record.soft)}`]] : [];
  const params = Object.entries(record.params).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
  return [
    ["Outcome", OUTCOMES[record.outcome] ?? record.outcome],
    ...score,
    ...(record.backend ? [["Backend", `${record.backend}${params ? `, ${params}` : ""}`]] : []),
    ...(record.kind === "rollout"
      ? [["Task", `${record.item} (${record.split}), sample ${record.sample}`], ["Document", el("code", {}, record.skill.slice(0, 16))]]
      : record.items.length ? [["Tasks shown", record.items.join(", ")]] : []),
    ["Job", el("code", {}, (record.kind === "rollout" ? record.rollout : record.job) ?? "unknown")],
  ];
}

function receipt(given, priced) {
  if (given === null) return "No receipt: the result is no longer stored.";
  const source = given.from_cache ? "From the cache, first done" : "Done";
  const by = given.worker ? ` by ${given.worker}` : "";
  const cost = format.dollars(priced ? given.cost_micro_usd / MICRO : null);
  const guess = given.estimated ? " (estimated: the provider reported no usage)" : "";
  return `${source}${by} in ${format.duration(given.seconds)}: ${format.plural(given.calls, "call")}, ${format.count(given.input_tokens)} tokens in, ${format.count(given.output_tokens)} out, ${cost}${guess}.`;
}

function checks(record) {
  return [
    el("h4", {}, "Checks"),
    record.criteria.length
      ? el("ul", { class: "checks" }, record.criteria.map((check) => el("li", {},
        el("span", { class: check.passed ? "passed" : "failed" }, check.passed ? "pass" : "FAIL"),
        el("span", {}, check.requirement || check.name, check.detail ? el("span", { class: "soft" }, `: ${check.detail}`) : ""))))
      : el("p", { class: "empty small" }, "No check is stored."),
    record.feedback && [el("h4", {}, "Feedback to the analyst"), el("pre", {}, record.feedback)],
  ];
}

/** The reply is shown by itself, so it is not shown again as the last message. */
function withoutReply(record) {
  const last = record.messages.at(-1);
  const repeats = last?.role === "assistant" && last.content === record.reply;
  return repeats ? record.messages.slice(0, -1) : record.messages;
}

function message(one) {
  return el("div", { class: `message ${one.role}` },
    el("span", { class: "role" }, one.role === "assistant" ? "answered" : one.role),
    one.content && el("pre", {}, one.content),
    (one.images ?? []).map((image) => el("p", { class: "small soft" }, `picture: ${image.media_type}, ${image.sha256.slice(0, 16)}`)),
    (one.tool_calls ?? []).map((call) => el("pre", { class: "small" }, `calls ${call.name}(${call.arguments})`)));
}

function judge(record, priced) {
  return [
    el("h4", {}, "The judge's own calls"),
    el("p", { class: "soft small" }, receipt(record.judge_receipt, priced)),
    (record.judge_messages ?? []).map(message),
  ];
}
