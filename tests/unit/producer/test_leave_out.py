"""A person may take a task out of every comparison when it cannot be run."""

from __future__ import annotations

import pytest
from fleet_double import Bench
from scripted_run import make_plan

from producer.submit import submit
from skillopt.domain.events import Finished
from skillopt.domain.plan import RunPlan
from skillopt.domain.steering_events import LeftOut, Paused

WHY = {"val-beta": "its tool is gone"}


def resubmit(bench: Bench, plan: RunPlan, leave_out: dict[str, str]) -> None:
    submit(bench.state, plan, meta={}, wait=lambda seconds: None, leave_out=leave_out)


def paused_for_coverage(bench: Bench, plan: RunPlan) -> str:
    """Have a run pause because one val task never gets a result."""
    bench.fleet.mishap = lambda job, lane: (
        "bad_request: no" if "/ val-beta /" in job.label else None
    )
    run = bench.submit(plan).run
    bench.drive(run)
    return run


def test_a_run_that_paused_for_a_task_goes_on_without_it():
    bench, plan = Bench(), make_plan()
    run = paused_for_coverage(bench, plan)
    assert isinstance(bench.events(run)[-1], Paused)
    resubmit(bench, plan, WHY)
    bench.drive(run)
    state = bench.known(plan)
    assert isinstance(state.finished, Finished)
    assert state.left_out == WHY
    assert all(gated.verdict != "indecisive" for gated in state.gates)


def test_every_coverage_figure_still_counts_the_task():
    bench, plan = Bench(), make_plan()
    run = paused_for_coverage(bench, plan)
    resubmit(bench, plan, WHY)
    bench.drive(run)
    measured = [m for (_, split), m in bench.known(plan).measured.items() if split == "val"]
    assert measured
    for measurement in measured:
        assert measurement.items["val-beta"].status == "left_out"
        assert measurement.coverage == pytest.approx(3 / 4)
        assert measurement.completeness == 1.0


def test_a_task_is_recorded_as_left_out_once():
    bench, plan = Bench(), make_plan()
    run = paused_for_coverage(bench, plan)
    resubmit(bench, plan, WHY)
    resubmit(bench, plan, WHY)
    assert [e.items for e in bench.events(run) if isinstance(e, LeftOut)] == [WHY]


def test_a_new_run_can_begin_without_a_task():
    bench, plan = Bench(), make_plan()
    resubmit(bench, plan, WHY)
    bench.drive(plan.run_id)
    assert bench.known(plan).finished
    assert not any("val-beta" in label for label in bench.fleet.labels.values())
