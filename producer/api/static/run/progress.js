// What the run does now, what it has in flight where, and how long each stage took.

import { el, svg } from "../dom.js";
import * as format from "../format.js";

const SHOWN_STAGES = 14;

export function now(status) {
  const { row } = status;
  const going = row.phase === "running" || row.phase === "queued";
  return [
    el("div", { class: "now-line" },
      el("p", {}, going ? status.stage || "waiting for its turn" : row.words),
      going && status.stage_total > 0 && el("progress", { max: status.stage_total, value: status.stage_done, "aria-label": "Results of this stage" }),
      going && status.stage_total > 0 && el("p", { class: "small soft" }, `${format.count(status.stage_done)} of ${format.plural(status.stage_total, "result")}, ${format.count(status.in_flight)} in flight`)),
    status.shares.length > 0 && el("ul", { class: "bars", "aria-label": "Jobs in flight by backend" }, status.shares.map(share)),
    facts(status),
  ];
}

function share(one) {
  return el("li", { class: "bar-row", "data-key": one.backend },
    el("span", {}, one.backend),
    el("span", { class: "soft small" }, `${one.in_flight} of ${one.window} in flight, ${format.count(one.wanted)} wanted`),
    bar(one.window ? one.in_flight / one.window : 0));
}

/** Draw a share of one as a bar. */
export function bar(value) {
  const width = Math.max(0, Math.min(1, value)) * 100;
  return svg("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width, height: 4 }));
}

function facts(status) {
  const left = Object.entries(status.left_out);
  const rows = [
    ["Window", status.window === null ? "by fair share" : `at most ${status.window} on each backend`],
    ...(left.length ? [["Left out", left.map(([task, why]) => (why ? `${task} (${why})` : task)).join(", ")]] : []),
    ...(status.given_up ? [["Given up for now", format.plural(status.given_up, "job")]] : []),
    ...(status.run_dir ? [["Folder", el("code", {}, status.run_dir)]] : []),
  ];
  return el("dl", { class: "facts small" }, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

export function stages(status) {
  const all = status.stages;
  if (!all.length) return el("p", { class: "empty" }, "No stage has begun yet.");
  const shown = all.slice(-SHOWN_STAGES);
  const begin = shown[0].began_at;
  const end = Math.max(...shown.map((stage) => stage.ended_at ?? stage.began_at), status.row.ended_at ?? 0, begin + 1e-3);
  const rows = shown.map((stage) => {
    const until = stage.ended_at ?? end;
    const from = ((stage.began_at - begin) / (end - begin)) * 100;
    const length = Math.max(0.6, ((until - stage.began_at) / (end - begin)) * 100);
    const open = stage.ended_at === null && status.row.ended_at === null;
    return el("li", { class: `stage ${open ? "now" : ""}`, "data-key": `${stage.label} ${stage.began_at}` },
      el("span", { title: stage.label }, stage.label),
      svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { x: Math.min(from, 99.4), width: length, height: 6, rx: 0.6 })),
      el("span", { class: "number soft" }, stage.ended_at === null ? (open ? "now" : "") : format.duration(until - stage.began_at)));
  });
  const before = all.length - shown.length;
  return [
    before > 0 && el("p", { class: "small soft" }, `The last ${shown.length} of ${all.length} stages`),
    el("ol", { class: "stages" }, rows),
  ];
}
