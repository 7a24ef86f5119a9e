// What a run is, how it stands, and its key figures.

import { el } from "../dom.js";
import * as format from "../format.js";
import { labels, steps } from "../pages/runs.js";
import { to } from "../routes.js";

export function heading(row) {
  const place = row.position === null ? "" : `, place ${row.position}`;
  return [
    el("p", { class: "crumb" }, el("a", { href: to("runs") }, "Runs")),
    el("div", { class: "title-line" },
      el("h1", {}, row.name),
      el("span", { class: `badge ${row.phase}` }, row.phase),
      labels(row.labels)),
    el("p", { class: "lead" }, row.words),
    el("p", { class: "small soft" },
      `${row.run} · ${row.owner}${row.team ? ` of ${row.team}` : ""} · ${row.priority} priority${place} · since ${format.moment(row.created_at)}`),
  ];
}

export function figures(status) {
  const { row } = status;
  const ended = row.ended_at !== null;
  return [
    figure("Best score", format.score(row.best_score), gain(row)),
    figure("Step", steps(row), row.mode === "train" ? `${format.score(row.current_score)} now` : row.mode),
    figure(ended ? "Active time" : "Time left",
      ended ? format.duration(row.active_s) : format.duration(row.eta_s),
      ended ? "from start to end" : `${format.duration(row.active_s)} so far`),
    figure("Spent", format.dollars(row.spent.usd), ended || row.projected_usd === null
      ? format.plural(row.spent.calls, "call")
      : `about ${format.dollars(row.projected_usd)} at the end`),
    figure("From the cache", format.share(status.cache_hit_rate), format.plural(status.cache_hits, "hit")),
    figure("In flight", format.count(status.in_flight), row.dead_jobs ? `${format.plural(row.dead_jobs, "dead job")}` : "jobs with workers"),
  ];
}

function figure(name, value, note) {
  return el("div", { class: "figure", "data-key": name === "Active time" ? "Time left" : name },
    el("dt", {}, name), el("dd", {}, value, el("span", { class: "note" }, note)));
}

function gain(row) {
  if (row.best_score === null || row.initial_score === null) return "not measured yet";
  const difference = row.best_score - row.initial_score;
  const sign = difference >= 0 ? "+" : "−";
  return `${sign}${Math.abs(difference).toFixed(3)} from ${format.score(row.initial_score)}`;
}
