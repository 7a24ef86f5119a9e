"""What a coordinator says of itself: whether it looks for runs and drives those it has."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fleet_double import TIMING, Bench

import producer.coordinator
from producer.coordinator import ROUND_S, Coordinator
from skillopt.errors import StateUnavailable
from skillopt.health import Condition


class Clock:
    """Time that goes on when it is told to."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(producer.coordinator, "time", made)
    return made


@pytest.fixture
def coordinator(clock: Clock, tmp_path: Path) -> Coordinator:
    bench = Bench()
    timing = replace(TIMING, watchdog_s=60.0, health_s=1.0)
    return Coordinator(bench.state, bench.fleet, tmp_path, timing)


def watched(coordinator: Coordinator, clock: Clock, seconds: int) -> Condition:
    """Ask once in a second; gives the last answer."""
    for _ in range(seconds):
        clock.now += 1.0
        found = coordinator.condition()
    return found


def serve_one_turn(coordinator: Coordinator) -> None:
    stop = threading.Event()
    stop.wait = lambda timeout=None: stop.set() or True  # type: ignore[method-assign]
    coordinator.serve(stop)


def test_it_is_not_ready_before_it_has_looked_for_runs(coordinator: Coordinator) -> None:
    assert coordinator.condition() == Condition(not_ready=("it is starting",))
    serve_one_turn(coordinator)
    assert coordinator.condition() == Condition()


def test_it_is_not_ready_while_the_state_is_away(
    coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> list[str]:
        raise StateUnavailable("no route")

    monkeypatch.setattr(coordinator._state.runs, "open_runs", away)
    serve_one_turn(coordinator)
    assert coordinator.condition() == Condition(not_ready=("the state does not answer",))


def test_it_is_stuck_when_it_does_not_look_for_runs(coordinator: Coordinator, clock: Clock) -> None:
    assert watched(coordinator, clock, 60).stuck == ()
    assert watched(coordinator, clock, 1).stuck == ("it has not looked for runs for 61 s",)


def test_a_run_may_take_longer_for_a_round_but_not_for_ever(
    coordinator: Coordinator, clock: Clock
) -> None:
    coordinator._drivers["r1"] = SimpleNamespace(turned_at=clock.now)
    for _ in range(int(ROUND_S)):
        coordinator._turned_at = clock.now
        assert watched(coordinator, clock, 1).stuck == ()
    coordinator._turned_at = clock.now
    assert watched(coordinator, clock, 1).stuck == ("run 'r1' has not moved for 301 s",)


def test_a_coordinator_that_was_stopped_itself_starts_with_a_clean_slate(
    coordinator: Coordinator, clock: Clock
) -> None:
    watched(coordinator, clock, 50)
    clock.now += 3600.0
    assert coordinator.condition().stuck == ()
    assert watched(coordinator, clock, 60).stuck == ()
    assert watched(coordinator, clock, 1).stuck == ("it has not looked for runs for 61 s",)
