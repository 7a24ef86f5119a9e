"""How far a run is: counted in attempts, foreseen from the steps there were."""

from __future__ import annotations

import pytest
from scripted_run import ScriptedRun, make_plan

from producer.queue.estimates import Work, work_of
from skillopt.domain.events import Cancelled, Gated, Measured, Reflected, StepStarted
from skillopt.domain.view import RunView

NOTHING = RunView()


def test_what_has_not_begun_is_all_ahead():
    work = work_of(ScriptedRun().state, NOTHING)
    assert work.done == 0
    assert work.left == 4 + 4 * (4 + 4) + 2, "baseline, four steps with batch and gate, a test"
    assert work.scaled(3.0) is None
    assert work.left_of(3.0) is None


def test_the_stage_under_way_counts_as_far_as_it_is():
    work = work_of(ScriptedRun().state, RunView(stage="baseline", done=3, total=4))
    assert (work.done, work.left) == (3, 4 + 4 * 8 + 2 - 3)


def test_what_is_done_moves_from_ahead_to_done():
    run = ScriptedRun().until(Measured)
    baseline = work_of(run.state, NOTHING)
    assert baseline.done >= 4
    run.until(StepStarted).until(Reflected)
    assert work_of(run.state, NOTHING).done == baseline.done + 4
    run.until(Gated)
    assert work_of(run.state, NOTHING).done == baseline.done + 8


def test_steps_ahead_are_taken_to_be_as_large_as_those_that_were():
    plan = make_plan(settings={"evaluation": {"early_decision": True}})
    run = ScriptedRun(plan).until(Gated)
    ended = run.state.steps[0]
    assert ended.gated is not None
    each = len(ended.started.items) + len(ended.gated.measurement.items)
    before = work_of(run.state, NOTHING)
    while len([step for step in run.state.steps if step.ended]) < 2:
        assert run.advance()
    second = run.state.steps[1]
    assert second.gated is not None
    after = work_of(run.state, NOTHING)
    took = len(second.started.items) + len(second.gated.measurement.items)
    assert after.done == before.done + took
    assert before.left - after.left == pytest.approx(each + 2 * (each - (each + took) / 2), abs=3)


def test_nothing_is_ahead_of_a_run_that_has_ended():
    assert work_of(ScriptedRun().finish().state, NOTHING).left == 0
    run = ScriptedRun().until(Gated)
    run.record(Cancelled())
    assert work_of(run.state, NOTHING).left == 0


@pytest.mark.parametrize("mode", ["eval", "aa"])
def test_measurements_count_their_attempts(mode: str):
    changes = {"mode": mode, "arms": 2} | ({"eval_split": "val"} if mode == "eval" else {})
    run = ScriptedRun(make_plan(**changes))
    arms = 2 if mode == "aa" else 1
    assert work_of(run.state, NOTHING) == Work(0, 4 * arms)
    assert work_of(run.state, RunView(stage="x", done=1)) == Work(1, 4 * arms - 1)
    assert work_of(run.finish().state, NOTHING) == Work(4 * arms, 0)


def test_amounts_grow_with_the_work():
    work = Work(done=10, left=30)
    assert work.scaled(2.5) == 10.0
    assert work.left_of(60.0) == 180.0
