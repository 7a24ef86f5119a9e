"""A coordinator or a worker killed anywhere: the run ends as if nothing had happened.

Every position of a small run is tried; the long lists are sampled here and complete in the tests
marked slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from interrupted_runs import (
    RICH,
    SMALL,
    Interruption,
    Killed,
    Moment,
    Outcome,
    Site,
    undisturbed,
    watched,
)
from scripted_run import make_plan

from skillopt.domain.plan import RunPlan
from skillopt.errors import StateUnavailable
from skillopt.state.ports import Lane

MOMENTS: tuple[Moment, ...] = ("before", "lost")
#: Calls that change the run itself: each is a position of its own, whatever is sampled.
DECIDING = frozenset({"runs.create", "runs.step", "runs.lead", "budgets.set_caps", "budgets.join"})
SAMPLE = 11


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """Processes die here, not the machine: what was written is there."""
    monkeypatch.setattr("os.fsync", lambda handle: None)


def small() -> RunPlan:
    return make_plan(settings=dict(SMALL))


def rich() -> RunPlan:
    return make_plan(settings=dict(RICH))


@cache
def expected(plan_name: str = "small") -> tuple[Outcome, tuple[str, ...]]:
    plan = {"small": small, "rich": rich}[plan_name]()
    with TemporaryDirectory() as folder:
        outcome, calls = undisturbed(Path(folder), plan)
    return outcome, tuple(calls)


def sampled(calls: Iterable[str], every: int) -> list[int]:
    """Give the positions to try: those that decide, and of the others every n-th."""
    numbered = list(enumerate(calls, start=1))
    return [at for at, name in numbered if name in DECIDING or at % every == 0]


def folder_of(tmp_path: Path, at: int, moment: str) -> Path:
    return tmp_path / f"{at}-{moment}"


# --- stopped after each event -------------------------------------------------------------------


def test_a_coordinator_told_to_stop_after_any_event_is_followed_by_another(tmp_path):
    whole, _ = expected()
    events = len(whole.decisions) + 1
    for after in range(1, events + 1):
        site = Site(tmp_path / str(after))
        site.command(StoppingAfter(site, after))
        site.stop.clear()
        assert site.continue_by(site.coordinator) == whole, f"stopped after event {after}"


class StoppingAfter(Interruption):
    """Tells the coordinator to stop once the log has so many events."""

    def __init__(self, site: Site, events: int) -> None:
        super().__init__()
        self._site = site
        self._events = events

    def through(self, name, call):
        answer = super().through(name, call)
        if name.startswith("runs.") and len(self._site.state.runs.log(self._site.run)) == (
            self._events
        ):
            self._site.stop.set()
        return answer


# --- killed between any two calls ---------------------------------------------------------------


def assert_killed_and_continued(
    tmp_path: Path, plan: RunPlan, whole: Outcome, at: int, moment: Moment, successor: str
) -> None:
    site = Site(folder_of(tmp_path, at, moment), plan)
    interruption = Interruption(at, moment)
    site.command(interruption)
    assert interruption.dead
    # Killed before the run was there, nobody but the command can know of it.
    is_there = site.state.runs.info(site.run) is not None
    process = site.coordinator if successor == "coordinator" and is_there else site.command
    where = f"killed at call {at} ({interruption.calls[-1]}, {moment})"
    assert site.continue_by(process) == whole, where
    executed = site.fleet.executed
    assert len(executed) == len(set(executed)), f"{where}: something finished was done again"


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("successor", ["command", "coordinator"])
def test_a_process_killed_at_a_call_of_the_state_is_continued(tmp_path, moment, successor):
    whole, calls = expected()
    for at in sampled(calls, SAMPLE):
        assert_killed_and_continued(tmp_path, small(), whole, at, moment, successor)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("successor", ["command", "coordinator"])
@pytest.mark.parametrize("plan_name", ["small", "rich"])
def test_a_process_killed_at_any_call_of_the_state_is_continued(
    tmp_path, moment, successor, plan_name
):
    whole, calls = expected(plan_name)
    plan = {"small": small, "rich": rich}[plan_name]()
    for at in range(1, len(calls) + 1):
        assert_killed_and_continued(tmp_path, plan, whole, at, moment, successor)


def test_processes_that_are_all_killed_sooner_or_later_still_get_there(tmp_path):
    """Each lives for a few calls more than the last one."""
    whole, _ = expected()
    site = Site(tmp_path)
    lives = iter(range(1, 400, 9))
    site.command(Interruption(next(lives)))
    assert site.continue_by(lambda: site.command(Interruption(next(lives), "lost"))) == whole


# --- the state away for one call ----------------------------------------------------------------


class Away(Interruption):
    """Answers one call with an outage; before or after it took effect, nobody knows."""

    def through(self, name, call):
        self.calls.append(name)
        if len(self.calls) != self.at:
            return call()
        if self.moment == "lost":
            call()
        raise StateUnavailable("Redis cannot serve now: connection reset; is it up?")


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_outage_at_a_call_of_the_coordinator_lets_the_run_go_until_it_is_back(tmp_path, moment):
    whole, calls = expected()
    submitting = calls.index("runs.lead")
    for at in range(submitting + 1, len(calls), SAMPLE):
        site = Site(folder_of(tmp_path, at, moment))
        site.command(Away(at, moment))
        assert site.continue_by(site.coordinator) == whole, f"away at call {at} ({moment})"


# --- workers killed between any two calls -------------------------------------------------------


class MortalFleet:
    """Workers of which one is killed, once; the others go on."""

    def __init__(self, site: Site, interruption: Interruption) -> None:
        self._fleet = site.fleet
        self._healthy = site.state
        self._fleet.state = watched(site.state, interruption)

    def send(self, run: str, job: object, *, backend: str, lane: Lane) -> None:
        try:
            self._fleet.send(run, job, backend=backend, lane=lane)
        except Killed:
            self._fleet.state = self._healthy


def worker_killed(tmp_path: Path, at: int | None, moment: Moment) -> tuple[Site, Interruption]:
    site = Site(folder_of(tmp_path, at or 0, moment))
    interruption = Interruption(at, moment)
    mortal = MortalFleet(site, interruption)
    site.fleet = mortal
    site.command()
    return site, interruption


@cache
def worker_calls() -> int:
    with TemporaryDirectory() as folder:
        _, interruption = worker_killed(Path(folder), None, "before")
    return len(interruption.calls)


def assert_worker_killed(tmp_path: Path, at: int, moment: Moment) -> None:
    whole, _ = expected()
    site, interruption = worker_killed(tmp_path, at, moment)
    where = f"worker killed at {interruption.calls[-1]} ({at}, {moment})"
    assert interruption.dead, where
    assert site.continue_by(site.command) == whole, where
    spend = site.state.budgets.spend(site.run)
    assert spend.unconfirmed.calls <= 1, where


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_killed_at_a_call_of_the_state_costs_one_job_at_most(tmp_path, moment):
    for at in [*range(1, 13), *range(13, worker_calls() + 1, 2 * SAMPLE)]:
        assert_worker_killed(tmp_path, at, moment)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_killed_at_any_call_of_the_state_costs_one_job_at_most(tmp_path, moment):
    for at in range(1, worker_calls() + 1):
        assert_worker_killed(tmp_path, at, moment)
