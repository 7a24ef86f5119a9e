// The curve: train, validation and best score over the steps, with each gate's verdict.

import { el, svg } from "../dom.js";
import * as format from "../format.js";

const EDGE = { left: 40, right: 14, top: 12, bottom: 28 };
const LEAST_SPAN = 0.2;

export function curve(points, width, addressOf) {
  const measured = points.filter((point) => values(point).length);
  if (!measured.length) return el("p", { class: "empty plot" }, "No score yet: the first measurement is under way.");
  const height = width < 560 ? 208 : 272;
  const [low, high] = range(measured);
  const inner = width - EDGE.left - EDGE.right;
  const x = (index) => EDGE.left + (points.length === 1 ? inner / 2 : (inner * index) / (points.length - 1));
  const y = (value) => EDGE.top + ((high - value) / (high - low)) * (height - EDGE.top - EDGE.bottom);
  const plot = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": summary(points) },
    grid(low, high, y, width), labels(points, x, height, width),
    steps(points, "best", x, y), steps(points, "val", x, y), trainLine(points, x, y),
    points.map((point, index) => marks(point, index, x, y, addressOf)));
  return [plot, legend(), table(points)];
}

function values(point) {
  return [point.train, point.val, point.candidate, point.best].filter((value) => value !== null);
}

function range(points) {
  const all = points.flatMap(values);
  let low = Math.max(0, Math.floor(Math.min(...all) * 10) / 10);
  let high = Math.min(1, Math.ceil(Math.max(...all) * 10) / 10);
  if (high - low < LEAST_SPAN) {
    high = Math.min(1, low + LEAST_SPAN);
    low = Math.max(0, high - LEAST_SPAN);
  }
  return [low, high];
}

function grid(low, high, y, width) {
  const step = high - low > 0.5 ? 0.2 : 0.1;
  const lines = [];
  for (let value = low; value <= high + 1e-9; value += step) {
    lines.push(
      svg("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
      svg("text", { x: EDGE.left - 8, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(1)));
  }
  return lines;
}

function labels(points, x, height, width) {
  const every = Math.max(1, Math.ceil((points.length * 30) / (width - EDGE.left - EDGE.right)));
  return points.map((point, index) =>
    index % every === 0 && svg("text", { x: x(index), y: height - 8, "text-anchor": "middle" }, point.label));
}

/** A score holds until the next step changes it, so the line goes in steps. */
function steps(points, name, x, y) {
  let path = "";
  let last = null;
  points.forEach((point, index) => {
    const value = point[name];
    if (value === null) return;
    path += last === null ? `M${x(index)} ${y(value)}` : `H${x(index)}V${y(value)}`;
    last = value;
  });
  return path && svg("path", { class: `line ${name}`, d: path });
}

function trainLine(points, x, y) {
  let path = "";
  points.forEach((point, index) => {
    if (point.train !== null) path += `${path ? "L" : "M"}${x(index)} ${y(point.train)}`;
  });
  return path && svg("path", { class: "line train", d: path });
}

function marks(point, index, x, y, addressOf) {
  const at = x(index);
  const drawn = [];
  if (point.train !== null) drawn.push(svg("circle", { class: "train-dot", cx: at, cy: y(point.train), r: 2.5 }));
  if (point.verdict === null) {
    if (point.val !== null) drawn.push(svg("circle", { class: "dot", cx: at, cy: y(point.val), r: 4 }));
    return drawn;
  }
  const value = point.candidate ?? point.val;
  if (value === null) return drawn;
  const words = `${format.place(point.label)}: ${point.verdict}, candidate ${format.score(point.candidate)}, validation ${format.score(point.val)}`;
  drawn.push(svg("a", { href: addressOf(point.label), "aria-label": words, "data-key": `gate ${point.label}`, "data-verdict": point.verdict },
    svg("title", {}, words), svg("circle", { class: "hit", cx: at, cy: y(value), r: 12 }), mark(point.verdict, at, y(value))));
  return drawn;
}

function mark(verdict, x, y) {
  if (verdict.startsWith("accept")) return svg("circle", { class: "mark accepted", cx: x, cy: y, r: 5 });
  if (verdict.startsWith("reject")) return svg("path", { class: "mark rejected", d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10` });
  if (verdict.startsWith("skip")) return svg("path", { class: "mark skipped", d: `M${x - 5} ${y}h10` });
  return svg("path", { class: "mark other", d: `M${x} ${y - 6}l6 11h-12z` });
}

function legend() {
  const line = (name) => svg("svg", { viewBox: "0 0 22 12", "aria-hidden": "true", class: "plot-key" }, svg("path", { class: `line ${name}`, d: "M1 6H21" }));
  const sign = (verdict) => svg("svg", { viewBox: "0 0 22 12", "aria-hidden": "true" }, mark(verdict, 11, 6));
  const entries = [
    [line("val"), "validation"], [line("best"), "best"], [line("train"), "train batch"],
    [sign("accepted"), "accepted"], [sign("rejected"), "rejected"], [sign("underpowered"), "not decided for it"], [sign("skipped"), "no candidate"],
  ];
  return el("ul", { class: "legend plot-legend" }, entries.map(([drawing, words]) => el("li", {}, drawing, words)));
}

function summary(points) {
  const last = points.at(-1);
  return `Scores over ${format.plural(points.length, "point")}; the latest, ${format.place(last.label)}: validation ${format.score(last.val)}, best ${format.score(last.best)}. Each verdict is a link to its gate.`;
}

function table(points) {
  return el("details", { class: "small", "data-key": "numbers" },
    el("summary", {}, "The same as numbers"),
    el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ["", "Train", "Validation", "Candidate", "Best", "Verdict"].map((name, index) =>
        el("th", { scope: "col", class: index && index < 5 ? "number" : null }, name)))),
      el("tbody", {}, points.map((point) => el("tr", {},
        el("th", { scope: "row" }, format.place(point.label)),
        ["train", "val", "candidate", "best"].map((name) => el("td", { class: "number" }, format.score(point[name]))),
        el("td", {}, point.verdict ?? format.UNKNOWN)))))));
}
