// Numbers as people read them, as the command line shows them: what was not measured is a dash.

export const UNKNOWN = "–";

export function score(value) {
  return value === null || value === undefined ? UNKNOWN : value.toFixed(3);
}

export function share(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (value >= 1) return "100%";
  return `${(Math.min(value, 0.999) * 100).toFixed(1).replace(".0", "")}%`;
}

export function count(value) {
  return value === null || value === undefined ? UNKNOWN : value.toLocaleString("en-GB");
}

export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function dollars(value) {
  if (value === null || value === undefined) return "not priced";
  if (value === 0) return "$0";
  return value < 1 ? `$${value.toFixed(4)}` : `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours) return `${hours} h ${String(minutes).padStart(2, "0")} min`;
  return `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
}

export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString("en-GB");
}

export function moment(at) {
  const date = new Date(at * 1000);
  const sameDay = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return sameDay ? time : `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time}`;
}

export function bytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let index = 0;
  let amount = value;
  while (amount >= 1000 && index < units.length - 1) {
    amount /= 1000;
    index += 1;
  }
  return `${amount.toFixed(index && amount < 100 ? 1 : 0)} ${units[index]}`;
}

/** Say which part of the loop a label of the curve or of a gate names. */
export function place(label) {
  if (label === "0") return "Start";
  return label.startsWith("e") ? `Epoch ${label.slice(1)} end` : `Step ${label}`;
}
