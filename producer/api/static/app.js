// The frame around the pages: who is signed in, which page is shown, and its address.

import { Api, ApiError, forgetToken, keepToken, storedToken } from "./api.js";
import { el, update } from "./dom.js";
import { here, to } from "./routes.js";
import { FleetPage } from "./pages/fleet.js";
import { loginPage } from "./pages/login.js";
import { RunPage } from "./pages/run.js";
import { RunsPage } from "./pages/runs.js";

const main = document.querySelector("main");
const nav = document.querySelector(".nav");
const who = document.querySelector(".who");
const THEMES = ["auto", "light", "dark"];

let session = null;
let page = null;

async function signIn(token) {
  const api = new Api(token, (error) => signOut(error.message));
  const me = await api.get("me");
  keepToken(token);
  session = { api, me, say };
  nav.hidden = who.hidden = false;
  update(who.querySelector(".who-name"), `${me.name} · ${me.role}`);
  show();
}

function signOut(reason = "") {
  if (session === null && page?.name === "login") return;
  forgetToken();
  session = null;
  nav.hidden = who.hidden = true;
  document.querySelector("dialog.record").close();
  open({ name: "login", key: "login", element: loginPage(signIn, reason), close() {} });
}

/** Show the page of the present address; a page that is there already takes the change itself. */
function show() {
  if (session === null) return;
  const [name = "runs", ...rest] = here();
  const key = name === "runs" && rest.length ? `run ${rest[0]}` : name;
  if (page?.key !== key) open(pageFor(name, rest, key));
  page.go?.(rest.slice(1));
  for (const link of nav.querySelectorAll("a")) {
    if (link.dataset.nav === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function pageFor(name, rest, key) {
  const pages = { runs: rest.length ? RunPage : RunsPage, fleet: FleetPage };
  const Page = pages[name];
  if (Page) return Object.assign(new Page(session, rest[0]), { key, name });
  const element = el("p", { class: "notice" }, "There is no such page. ", el("a", { href: to("runs") }, "See the runs"));
  return { key, name, element, title: "Not found", close() {} };
}

function open(next) {
  const first = page === null;
  page?.close();
  page = next;
  main.replaceChildren(next.element);
  document.title = next.title ? `${next.title} · SkillOpt Fleet` : "SkillOpt Fleet";
  window.scrollTo(0, 0);
  if (!first && next.name !== "login") main.focus({ preventScroll: true });
}

/** Tell something in passing; screen readers say it too. */
function say(words) {
  const toast = el("div", { class: "toast" }, words);
  document.querySelector(".toasts").append(toast);
  setTimeout(() => toast.remove(), 6000);
}

function showTheme() {
  const chosen = document.documentElement.dataset.theme ?? "auto";
  update(document.querySelector("[data-theme-switch]"), `Theme: ${chosen}`);
}

function switchTheme() {
  const chosen = document.documentElement.dataset.theme ?? "auto";
  const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  localStorage.setItem("skillopt-theme", next);
  showTheme();
}

document.querySelector("[data-theme-switch]").addEventListener("click", switchTheme);
document.querySelector("[data-sign-out]").addEventListener("click", () => signOut());
document.querySelector("[data-skip]").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", show);
showTheme();

const token = storedToken();
if (token === null) {
  signOut();
} else {
  signIn(token).catch((error) => {
    if (!(error instanceof ApiError)) throw error;
    signOut(error.message);
  });
}
