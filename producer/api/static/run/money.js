// What a run spent, by role, and how much of its budget that is.

import { el } from "../dom.js";
import * as format from "../format.js";
import { bar } from "./progress.js";

const ROLES = ["target", "optimizer", "judge"];
const LIMITS = { max_usd: "money", max_calls: "calls", max_tokens: "tokens", max_minutes: "minutes" };

export function money(status) {
  const { spent } = status.row;
  const largest = Math.max(1, ...Object.values(spent.calls_by_role));
  const roles = ROLES.filter((role) => spent.calls_by_role[role]);
  return [
    roles.length
      ? el("ul", { class: "bars", "aria-label": "Calls by role" }, roles.map((role) =>
        el("li", { class: "bar-row", "data-key": role },
          el("span", {}, role),
          el("span", { class: "soft small" }, byRole(spent, role)),
          bar(spent.calls_by_role[role] / largest))))
      : el("p", { class: "empty" }, "No call was paid for yet."),
    el("dl", { class: "facts small" }, facts(status).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("ul", { class: "bars", "aria-label": "Budget" }, limits(status)),
  ];
}

function byRole(spent, role) {
  const calls = format.plural(spent.calls_by_role[role], "call");
  const usd = spent.usd_by_role?.[role];
  return usd === undefined ? calls : `${calls}, ${format.dollars(usd)}`;
}

function facts(status) {
  const { spent, projected_usd: usd, projected_calls: calls } = status.row;
  const going = status.row.ended_at === null;
  return [
    ["Total", `${format.plural(spent.calls, "call")}, ${format.plural(spent.tokens, "token")}, ${format.dollars(spent.usd)}`],
    ...(spent.unconfirmed_calls ? [["Never answered", format.plural(spent.unconfirmed_calls, "call")]] : []),
    ...(going && calls !== null ? [["Expected", `${format.plural(calls, "call")}${usd === null ? "" : `, ${format.dollars(usd)}`}`]] : []),
    ["Cache", `${format.plural(status.cache_hits, "hit")}, ${format.share(status.cache_hit_rate)} of results`],
  ];
}

function limits(status) {
  const { row, budget } = status;
  const used = { max_usd: row.spent.usd, max_calls: row.spent.calls, max_tokens: row.spent.tokens, max_minutes: row.active_s / 60 };
  return Object.entries(LIMITS).filter(([key]) => budget[key] !== null && budget[key] !== undefined).map(([key, name]) => {
    const limit = budget[key];
    const part = limit > 0 && used[key] !== null ? used[key] / limit : 0;
    const shown = key === "max_usd" ? `${format.dollars(used[key])} of ${format.dollars(limit)}` : `${format.count(Math.round(used[key]))} of ${format.count(limit)}`;
    return el("li", { class: `bar-row ${part >= 0.8 ? "warn" : ""}`, "data-key": key },
      el("span", {}, `Budget: ${name}`), el("span", { class: "soft small" }, shown), bar(part));
  });
}
