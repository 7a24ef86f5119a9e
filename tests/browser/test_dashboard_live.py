"""The dashboard of a real server, in a real browser, while a run goes on behind it."""

from __future__ import annotations

import zipfile
from typing import Any

import pytest
from looking import is_too_wide, picture, sign_in
from playwright.sync_api import expect
from team_here import TeamHere, until

from producer.run_folder import RunFolder


@pytest.fixture(scope="module")
def trained(team: TeamHere) -> str:
    """A run that goes on beside the first tests."""
    return team.submit("finished-notice").run


@pytest.fixture
def finished(team: TeamHere, trained: str) -> str:
    return team.end_of(trained)


def marks(page: Any) -> int:
    return page.locator(".plot a[data-verdict]").count()


def badge(page: Any) -> Any:
    return page.locator(".title-line .badge").first


def test_a_run_is_watched_live_paused_and_resumed_and_a_viewer_only_watches(team, eyes, trained):
    run = team.submit("live-notice", epochs=3).run
    page, wall = eyes.page(), eyes.page()
    sign_in(page, team.url, team.tokens["ada-laptop"], f"#/runs/{run}")
    page.evaluate("window.sameDocument = true")
    until(lambda: marks(page) >= 1, "gate on the curve")
    seen = marks(page)
    picture(page, "run-live")

    page.get_by_role("button", name="Pause").click()
    expect(badge(page)).to_have_text("paused")
    assert team.phase(run) == "paused"
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    picture(page, "run-paused")

    sign_in(wall, team.url, team.tokens["wall-screen"], f"#/runs/{run}")
    expect(badge(wall)).to_have_text("paused")
    expect(wall.get_by_text("its owner or an admin can change it")).to_be_visible()
    for name in ("Pause", "Resume", "Retune", "Cancel"):
        expect(wall.get_by_role("button", name=name, exact=True)).to_have_count(0)
    refused = wall.evaluate(
        """async (run) => (await fetch(`api/v1/runs/${run}/resume`, {method: "POST", headers:
        {Authorization: `Bearer ${sessionStorage.getItem("skillopt-token")}`}})).status""",
        run,
    )
    assert refused == 403
    assert team.phase(run) == "paused"

    page.get_by_role("button", name="Resume").click()
    expect(badge(page)).to_have_text("running")
    until(lambda: marks(page) > seen, "growth of the curve")
    expect(badge(wall)).not_to_have_text("paused")  # nobody touched that page
    assert page.evaluate("window.sameDocument") is True

    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel the run").click()
    expect(badge(page)).to_have_text("cancelled")
    expect(badge(wall)).to_have_text("cancelled")


def test_the_difference_shows_the_accepted_edit(team, eyes, finished):
    page = eyes.page()
    sign_in(page, team.url, team.tokens["ada-laptop"], f"#/runs/{finished}")
    state = RunFolder(team.store / "runs" / finished).state()
    accepted = next(step for step in state.steps if step.gated and step.gated.verdict == "accept")
    before = state.texts[accepted.proposed.parent].skill.splitlines()
    added = [line for line in accepted.proposed.text.splitlines() if line and line not in before]
    assert added
    page.get_by_label("Change of").select_option(str(accepted.started.step))
    shown = page.locator(".code .added")
    for line in added:
        expect(shown.filter(has_text=line).first).to_be_visible()
    page.get_by_role("tab", name="Where lines come from").click()
    row = page.locator(".blame tr", has_text=added[0])
    expect(row.first).to_contain_text(f"step {accepted.started.step}")
    picture(page, "run-finished")


def test_a_red_cell_opens_its_record_and_gives_the_focus_back(team, eyes, finished):
    page = eyes.page()
    sign_in(page, team.url, team.tokens["ada-laptop"], f"#/runs/{finished}/gate/1")
    cell = page.locator(".gate-tasks td:nth-child(3) a.cell:is(.worse, .fail)").first
    task = cell.locator("xpath=ancestor::tr").get_by_role("rowheader").inner_text()
    cell.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", level=2)).to_have_text(f"step 1 / gate: task {task}")
    expect(dialog.get_by_text("FAIL").first).to_be_visible()
    expect(dialog.get_by_text("hard 0.000")).to_be_visible()
    for part in ("Reply", "Sent", "Checks"):
        expect(dialog.get_by_role("heading", level=4, name=part)).to_be_visible()
    expect(dialog.locator(".message.system, .message.user").first).not_to_be_empty()
    picture(page, "record", whole=False)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(cell).to_be_focused()


def test_gates_tasks_optimizer_calls_and_events_open_in_full(team, eyes, finished):
    page = eyes.page()
    sign_in(page, team.url, team.tokens["ada-laptop"], f"#/runs/{finished}")
    page.get_by_role("navigation", name="Gates").get_by_role("link").last.click()
    expect(page.locator(".gate h3").first).to_have_text("Step 1")
    page.locator(".calls a", has_text="step 1 / reflect").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", level=2)).to_contain_text("step 1 / reflect")
    expect(dialog.get_by_text("Tasks shown")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    page.locator(".gate-tasks th a").first.click()
    expect(dialog.locator("article").first).to_be_visible()
    page.go_back()
    expect(dialog).to_be_hidden()
    page.locator(".events a").first.click()
    expect(dialog.locator("pre")).to_contain_text('"type": "finished"')


def test_report_and_export_can_be_taken_along(team, eyes, finished, tmp_path):
    page = eyes.page()
    sign_in(page, team.url, team.tokens["wall-screen"], f"#/runs/{finished}")
    with page.expect_download() as report:
        page.get_by_role("button", name="Report").click()
    report.value.save_as(tmp_path / "report.html")
    printed = eyes.page(width=900)
    printed.goto((tmp_path / "report.html").as_uri())
    expect(printed.get_by_role("heading", level=1)).to_contain_text("finished-notice")
    expect(printed.locator("svg.plot").first).to_be_visible()
    picture(printed, "report")
    assert len(printed.pdf(format="A4")) > 10_000
    with page.expect_download() as export:
        page.get_by_role("button", name="Export").click()
    export.value.save_as(tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert {"best_skill.md", "events.jsonl", "summary.json"} <= set(archive.namelist())


def test_runs_and_fleet_are_listed_and_fit_a_phone(team, eyes, finished):
    page = eyes.page()
    sign_in(page, team.url, team.tokens["ada-laptop"])
    expect(page.get_by_role("link", name="finished-notice")).to_be_visible()
    page.get_by_label("State").select_option("cancelled")
    expect(page.get_by_role("link", name="finished-notice")).to_have_count(0)
    page.get_by_role("link", name="Fleet", exact=True).click()
    backends = page.get_by_role("region", name="Backends")
    expect(backends.get_by_role("rowheader")).to_contain_text("sim")
    expect(page.get_by_role("region", name="Workers")).to_contain_text("sim")
    expect(page.get_by_role("region", name="Dead jobs")).to_contain_text("No job is dead")
    picture(page, "fleet")
    phone = eyes.page(width=360, height=740, scheme="dark")
    sign_in(phone, team.url, team.tokens["ada-laptop"])
    for name, address in (("runs", "#/runs"), ("run", f"#/runs/{finished}"), ("fleet", "#/fleet")):
        phone.goto(f"{team.url}/{address}")
        expect(phone.locator("main h1")).to_be_visible()
        expect(phone.get_by_text("Loading…")).to_have_count(0)
        assert not is_too_wide(phone), name
        picture(phone, f"{name}-phone")


def test_a_run_of_another_team_is_not_there(team, eyes, finished):
    page = eyes.page()
    sign_in(page, team.url, team.tokens["eve-laptop"], f"#/runs/{finished}")
    expect(page.get_by_role("alert")).to_contain_text("no run")
    page.get_by_role("link", name="Runs", exact=True).first.click()
    expect(page.get_by_text("No run to show.")).to_be_visible()


def test_a_wrong_token_is_refused_in_words_and_signing_out_forgets(team, eyes):
    page = eyes.page()
    page.goto(team.url)
    page.get_by_label("Access token").fill("sofl_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid")
    picture(page, "login")
    sign_in(page, team.url, team.tokens["ada-laptop"])
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Access token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    assert team.tokens["ada-laptop"] not in page.content()


def test_flower_shows_pinned_workers_and_finished_tasks_to_those_who_may(team, eyes, finished):
    told = team.told
    for path in ("/", "/workers", "/tasks", "/metrics", "/healthcheck", "/api/tasks"):
        answer = eyes.page().request.get(told["flower_url"] + path)
        assert answer.status in (401, 403), path
    credentials = {"username": told["flower_user"], "password": told["flower_password"]}
    page = eyes.page(credentials=credentials)
    for path in ("/api/worker/shutdown/sim-1", "/api/task/revoke/1", "/api/task/apply/so.rollout"):
        refused = page.request.post(told["flower_url"] + path)
        assert refused.status in (401, 403), path
    page.goto(told["flower_url"] + "/workers")
    expect(page.locator("body")).to_contain_text("sim-1")
    picture(page, "flower-workers")
    page.goto(told["flower_url"] + "/tasks")
    expect(page.locator("body")).to_contain_text("so.rollout")
    expect(page.locator("body")).to_contain_text("scored")
    picture(page, "flower-tasks")
