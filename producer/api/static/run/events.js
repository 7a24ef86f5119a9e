// The run's log, newest first; each line opens the whole event.

import { el } from "../dom.js";
import * as format from "../format.js";

const SHOWN = 200;

export function eventList(rows, addressOf) {
  if (!rows.length) return el("p", { class: "empty" }, "Nothing has happened yet.");
  const shown = rows.slice(-SHOWN).reverse();
  return [
    rows.length > SHOWN && el("p", { class: "small soft" }, `The last ${SHOWN} of ${format.count(rows.length)}`),
    el("ol", { class: "events", reversed: true, tabindex: "0", "aria-label": "Events, newest first" }, shown.map((row) =>
      el("li", { "data-key": row.seq },
        el("time", { class: "soft", datetime: new Date(row.at * 1000).toISOString() }, format.clock(row.at)),
        el("a", { href: addressOf(row.seq) }, row.words)))),
  ];
}
