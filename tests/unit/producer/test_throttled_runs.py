"""What people see of a throttle, and that it never ends a run."""

from __future__ import annotations

import re

import pytest
from fleet_double import Bench, Trouble

from skillopt.domain.backend import Limits
from skillopt.domain.view import RunView
from skillopt.state.ports import ThrottleScope, WorkerInfo


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(concurrency=1), "throttled by 'sim' (1 call at a time)"),
        (Limits(rpm=1), "throttled by 'sim' until … UTC (requests per minute)"),
    ],
)
def test_people_are_told_what_calls_in_flight_wait_for(limits: Limits, words: str) -> None:
    bench = Bench()
    bench.fleet.mishap = lambda job, lane: "killed"
    scope = ThrottleScope("sim", "c1", "e1")
    for slot in ("first", "second"):
        bench.state.throttle.admit(scope, limits, slot, tokens=0)
    run = bench.submit().run
    bench.state.fleet.announce(WorkerInfo("w", "sim", "f", 4))
    bench.doorbell.idle = bench.stop.set
    bench.drive(run)
    view = RunView.model_validate_json(bench.state.runs.view(run) or "")
    assert re.sub(r"\d\d:\d\d:\d\d", "…", view.waiting) == words


def test_a_job_that_the_throttle_gave_back_tells_why_in_its_own_words() -> None:
    bench = Bench()
    said = "throttled by 'sim' until 12:00:00 UTC (tokens per minute)"
    bench.fleet.mishap = lambda job, lane: f"throttled: {said}"
    run = bench.submit().run
    bench.state.fleet.announce(WorkerInfo("w", "sim", "f", 4))
    bench.doorbell.idle = bench.stop.set
    bench.drive(run)
    view = RunView.model_validate_json(bench.state.runs.view(run) or "")
    assert view.waiting == said


def test_a_run_that_is_throttled_for_long_does_not_pause() -> None:
    bench = Bench()
    bench.fleet.mishap = Trouble("throttled: by 'sim'", times=3 * bench.timing.max_infra_rounds)
    assert bench.run().finished
