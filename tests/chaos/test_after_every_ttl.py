"""A run that was left alone for so long that all that lapses has lapsed."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from interrupted_runs import RICH, SMALL, Interruption, Outcome, Site, undisturbed
from scripted_run import make_plan

from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Budget
from skillopt.domain.steering_events import Resumed
from skillopt.domain.timing import DAY_S
from skillopt.errors import StateCorrupt

#: Longer than anything with an end is kept.
HOLIDAY_S = 400 * DAY_S


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda handle: None)


def plan_of(name: str, **changes) -> RunPlan:
    return make_plan(settings=dict(SMALL if name == "small" else RICH), **changes)


@cache
def expected(name: str) -> tuple[Outcome, tuple[str, ...]]:
    with TemporaryDirectory() as folder:
        outcome, calls = undisturbed(Path(folder), plan_of(name))
    return outcome, tuple(calls)


def steps(name: str) -> list[int]:
    return [at for at, call in enumerate(expected(name)[1], start=1) if call == "runs.step"]


def left_at(tmp_path: Path, name: str, at: int) -> Site:
    site = Site(tmp_path / f"{name}-{at}", plan_of(name))
    site.command(Interruption(at, "lost"))
    before = len(site.state.runs.ledger(site.run))
    site.clock.now += HOLIDAY_S
    assert len(site.state.runs.ledger(site.run)) == before
    assert not site.state.results.get(list(site.state.runs.ledger(site.run)))
    return site


@pytest.mark.parametrize("name", ["small", "rich"])
@pytest.mark.parametrize("successor", ["command", "coordinator"])
def test_a_run_left_for_longer_than_anything_is_kept_goes_on_to_the_same_end(
    tmp_path, name, successor
):
    for at in steps(name):
        site = left_at(tmp_path, name, at)
        assert site.continue_by(getattr(site, successor)) == expected(name)[0], f"left at {at}"


def test_between_two_decisions_what_lapsed_is_used_or_run_again(tmp_path):
    for at in range(30, len(expected("small")[1]), 23):
        site = left_at(tmp_path, "small", at)
        assert site.continue_by(site.coordinator) == expected("small")[0], f"left at {at}"


def test_scores_in_the_ledger_are_not_paid_again(tmp_path):
    """Of a measurement only its scores are needed, and those do not lapse."""
    at = steps("small")[-3]  # everything but the last tests is decided
    site = left_at(tmp_path, "small", at)
    before = len(site.fleet.executed)
    site.continue_by(site.coordinator)
    again = site.fleet.executed[before:]
    assert not set(again) & set(site.fleet.executed[:before])


def test_a_resumed_run_finds_its_plan_although_the_command_now_has_another_budget(tmp_path):
    """The budget is in the stored plan: its hash is not the one that the run was created with."""
    site = left_at(tmp_path, "small", steps("small")[4])
    raised = plan_of("small", budget=Budget(max_calls=10_000))
    assert raised.run_id == site.run
    first = site.state.runs.info(site.run).meta["plan"]
    site.plan = raised
    assert site.continue_by(site.command) == expected("small")[0]
    assert site.state.runs.info(site.run).meta["plan"] != first
    assert [event.budget for event in site.events() if isinstance(event, Resumed)] == [
        raised.budget
    ]


def test_a_coordinator_without_plan_and_folder_says_what_to_do(tmp_path):
    site = left_at(tmp_path, "small", steps("small")[4])
    log = site.state.runs.log(site.run)
    shutil.rmtree(site.folder.path)
    with pytest.raises(StateCorrupt, match=r"not stored any more.*give its command again"):
        site.coordinator()
    assert site.state.runs.log(site.run) == log


def test_a_folder_of_another_run_does_not_stand_in_for_a_lost_plan(tmp_path):
    site = left_at(tmp_path, "small", steps("small")[4])
    other = plan_of("rich")
    (site.folder.path / "plan.json").write_text(other.model_dump_json())
    with pytest.raises(StateCorrupt, match=f"holds run '{other.run_id}'"):
        site.coordinator()


def test_a_finished_run_costs_nothing_more_after_everything_has_lapsed(tmp_path):
    site = Site(tmp_path, plan_of("small"))
    site.command()
    calls = len(site.fleet.executed)
    site.clock.now += HOLIDAY_S
    site.command()
    assert len(site.fleet.executed) == calls
    assert site.outcome() == expected("small")[0]
