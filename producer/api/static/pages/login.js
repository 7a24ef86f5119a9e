// Asks for a token and tries it before it is kept, for as long as the tab is open.

import { el, update } from "../dom.js";

export function loginPage(signIn, reason) {
  const problem = el("p", { class: "notice bad", role: "alert", hidden: !reason }, reason);
  const field = el("input", {
    id: "token", name: "token", type: "password", autocomplete: "current-password",
    spellcheck: "false", autocapitalize: "off", required: true,
    "aria-describedby": "token-hint",
  });
  const button = el("button", { class: "primary", type: "submit" }, "Sign in");
  const form = el("form", {},
    el("div", { class: "field" },
      el("label", { for: "token" }, "Access token"),
      field,
      el("p", { class: "hint", id: "token-hint" },
        "Whoever runs this server makes one with ",
        el("code", {}, "skillopt token create"),
        ". It is kept until you close this tab.")),
    problem, button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.hidden = true;
    try {
      await signIn(field.value.trim());
    } catch (error) {
      update(problem, error.status === 401 ? "This token is not valid here, or was revoked." : error.message);
      problem.hidden = false;
      field.focus();
    } finally {
      button.disabled = false;
    }
  });
  return el("section", { class: "login card", "aria-labelledby": "login-title" },
    el("h1", { id: "login-title" }, "Sign in"),
    el("p", { class: "lead" }, "Runs of your team, live: scores, decisions, money, and the fleet behind them."),
    form);
}
