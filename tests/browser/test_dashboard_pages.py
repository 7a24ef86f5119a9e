"""The dashboard's pages by themselves: what they show, to whom, and to every kind of reader."""

from __future__ import annotations

from typing import Any

import pytest
from canned_team import (
    RUN,
    URL,
    CannedTeam,
    curve,
    event,
    fleet,
    gate,
    rollout,
    row,
    status,
)
from looking import is_too_wide, sign_in
from playwright.sync_api import expect

from producer.queue.models import DiffPage

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
#: Ink on ground, as the style sheet pairs them.
PAIRS = [
    ("--ink", "--ground"), ("--ink", "--surface"), ("--soft", "--surface"), ("--soft", "--ground"),
    ("--soft", "--sunken"), ("--accent", "--surface"), ("--accent", "--accent-ground"),
    ("--on-accent", "--accent"), ("--good", "--good-ground"), ("--bad", "--bad-ground"),
    ("--bad", "--surface"), ("--warn", "--warn-ground"),
]  # fmt: skip
CONTRAST = """(pairs) => {
  const probe = document.body.appendChild(document.createElement("div"));
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const light = (name) => {
    probe.style.color = `var(${name})`;
    canvas.fillStyle = getComputedStyle(probe).color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => {
      const value = part / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return pairs.map(([ink, ground]) => {
    const [high, low] = [light(ink), light(ground)].sort((a, b) => b - a);
    return [ink, ground, (high + 0.05) / (low + 0.05)];
  });
}"""
NAMELESS = """() => [...document.querySelectorAll("button, a[href], input, select, [role=tab]")]
  .filter((one) => one.offsetParent !== null || one.ownerSVGElement)
  .filter((one) => !one.textContent.trim() && !one.getAttribute("aria-label"))
  .filter((one) => !one.labels?.length)
  .map((one) => one.outerHTML)"""
REPEATED_IDS = """() => [...document.querySelectorAll("[id]")].map((one) => one.id)
  .filter((id, index, all) => all.indexOf(id) !== index)"""
ADDRESSES = {"runs": "#/runs", "run": f"#/runs/{RUN}", "fleet": "#/fleet"}


def opened(eyes: Any, team: CannedTeam, address: str = f"#/runs/{RUN}", **look: Any) -> Any:
    page = eyes.page(**look)
    team.serve(page)
    sign_in(page, URL, "a-token", address)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    return page


def hostile_team() -> CannedTeam:
    team = CannedTeam()
    named = {"name": HOSTILE, "words": HOSTILE, "owner": HOSTILE, "labels": {"a": HOSTILE}}
    told = status(**named).model_copy(update={"warnings": (HOSTILE,), "left_out": {"t": HOSTILE}})
    diff = DiffPage(label="best", before=HOSTILE, after="best", lines=(f"+{HOSTILE}",))
    team.answers |= {
        "runs": [row(**named)],
        "fleet": fleet(HOSTILE),
        f"runs/{RUN}": told,
        f"runs/{RUN}/gates": [gate(HOSTILE, HOSTILE)],
        f"runs/{RUN}/events": [event(1, HOSTILE)],
        f"runs/{RUN}/records": [rollout(HOSTILE, HOSTILE)],
        f"runs/{RUN}/diff": diff,
        f"runs/{RUN}/stream": lambda _: [told],
    }
    return team


@pytest.mark.parametrize("address", [*ADDRESSES.values(), f"#/runs/{RUN}/call/{'ab' * 32}"])
def test_what_others_wrote_is_shown_as_text(eyes, address):
    page = opened(eyes, hostile_team(), address)
    shown = page.locator("dialog.record" if "call" in address else "main")
    expect(shown.get_by_text(HOSTILE).first).to_be_visible()
    assert page.locator("body img, body script").count() == 0


@pytest.mark.parametrize(
    ("role", "owner", "phase", "buttons"),
    [
        ("viewer", "ada", "running", set()),
        ("runner", "eve", "running", set()),
        ("runner", "ada", "running", {"Pause", "Retune", "Cancel"}),
        ("runner", "ada", "paused", {"Resume", "Retune", "Cancel"}),
        ("admin", "root", "running", {"Pause", "Retune", "Cancel"}),
        ("runner", "ada", "finished", set()),
    ],
)
def test_only_those_who_may_are_offered_what_changes_a_run(eyes, role, owner, phase, buttons):
    team = CannedTeam(role, owner)
    ended = 1_790_000_100.0 if phase == "finished" else None
    told = status(phase=phase, ended_at=ended)
    team.answers |= {f"runs/{RUN}": told, f"runs/{RUN}/stream": lambda _: [told]}
    page = opened(eyes, team)
    group = page.get_by_role("group", name="This run")
    expect(group.get_by_role("button", name="Report")).to_be_visible()
    shown = set(group.get_by_role("button").all_inner_texts())
    assert shown - {"Report", "Export"} == buttons


def test_retuning_sends_only_what_was_changed(eyes):
    team = CannedTeam()
    page = opened(eyes, team)
    page.get_by_role("button", name="Retune").click()
    dialog = page.get_by_role("dialog", name="Retune this run")
    expect(dialog.get_by_label("Most money (USD)")).to_have_value("1")
    dialog.get_by_label("Priority").select_option("high")
    dialog.get_by_label("Most calls").fill("500")
    dialog.get_by_label("no limit").first.check()
    with page.expect_request(lambda request: request.method == "PATCH"):
        dialog.get_by_role("button", name="Apply").click()
    expect(dialog).to_be_hidden()
    sent = [body for method, _, body in team.asked if method == "PATCH"]
    assert sent == [{"priority": "high", "max_calls": 500, "max_usd": None}]


def test_a_stream_that_breaks_is_taken_up_after_what_came_last(eyes):
    team = CannedTeam()
    afters: list[str] = []

    def stream(query):
        afters.append(query["after"])
        if len(afters) == 1:
            return [event(2, "step 2: 4 tasks"), status()]
        return [event(2), event(3, "finished: all is done"), status(phase="finished", ended_at=9.0)]

    team.answers[f"runs/{RUN}/stream"] = stream
    page = opened(eyes, team)
    expect(page.get_by_text("finished: all is done").first).to_be_visible()
    expect(page.get_by_text("complete", exact=True)).to_be_visible()
    assert afters == ["1", "2"]
    assert page.locator(".events li").count() == 3  # what came twice is shown once


def test_new_decisions_appear_without_moving_the_reader(eyes):
    team = CannedTeam()
    rows = curve()
    more = rows[1].model_copy(update={"label": "2", "verdict": "accepted", "candidate": 0.8})

    def stream(query):
        if query["after"] == "1":
            team.answers[f"runs/{RUN}/curve"] = [*rows, more]
            return [event(2, "step 2: accepted", "gated"), status()]
        return [status()]

    page = eyes.page()
    team.answers[f"runs/{RUN}/stream"] = lambda _: []
    team.serve(page)
    sign_in(page, URL, "a-token", f"#/runs/{RUN}")
    cell = page.locator("a.cell").first
    cell.focus()
    before = cell.evaluate("(one) => [one.getBoundingClientRect().top, scrollY]")
    team.answers[f"runs/{RUN}/stream"] = stream
    expect(page.locator(".plot a[data-verdict]")).to_have_count(2)
    expect(cell).to_be_focused()
    assert cell.evaluate("(one) => [one.getBoundingClientRect().top, scrollY]") == before


@pytest.mark.parametrize("name", ADDRESSES)
def test_every_page_can_be_read_by_those_who_do_not_see_it(eyes, name):
    page = opened(eyes, CannedTeam(), ADDRESSES[name])
    for landmark in ("banner", "main", "navigation"):
        assert page.get_by_role(landmark).count() >= 1
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(REPEATED_IDS) == []
    assert page.get_by_role("status").count() >= 1
    assert page.locator("table:not(:has(> caption, thead th))").count() == 0


def test_a_run_is_reached_and_read_by_keyboard_alone(eyes):
    page = opened(eyes, CannedTeam(), "#/runs")
    page.reload()
    expect(page.get_by_role("link", name="notice")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(4):  # past the filters
        page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="notice")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text("notice")
    page.get_by_role("tab", name="Changes").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Where lines come from")).to_be_focused()
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_ground(eyes, scheme):
    page = eyes.page(scheme=scheme)
    CannedTeam().serve(page)
    page.goto(URL)
    weak = [pair for pair in page.evaluate(CONTRAST, PAIRS) if pair[2] < 4.5]
    assert weak == []


def test_a_chosen_theme_stays(eyes):
    page = opened(eyes, CannedTeam(), "#/runs")
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").click()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


@pytest.mark.parametrize("name", ADDRESSES)
def test_long_words_do_not_widen_a_phone(eyes, name):
    team = CannedTeam()
    long = "w" * 200
    told = status(name=long, words=long, owner=long)
    team.answers |= {
        "runs": [row(name=long, words=long, owner=long)],
        "fleet": fleet(long),
        f"runs/{RUN}": told,
        f"runs/{RUN}/gates": [gate(long, long)],
        f"runs/{RUN}/stream": lambda _: [told],
    }
    assert not is_too_wide(opened(eyes, team, ADDRESSES[name], width=360, height=740))
