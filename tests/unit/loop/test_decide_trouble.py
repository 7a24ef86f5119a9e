from __future__ import annotations

import pytest
from loop_values import look, of_type
from scripted_run import Models, ScriptedRun, item, make_plan

from skillopt.domain.events import Gated, Measured, Proposed, Skipped, StepStarted
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.results import Body
from skillopt.domain.steering_events import GaveUp, Paused, Resumed


def give_up(run: ScriptedRun, *labels: str) -> None:
    """Give up the wanted jobs whose labels begin so, and do the others, until there is none."""
    while True:
        decision = look(run)
        doomed = {
            job.id: "server_error: 503" for job in decision.wanted if job.label.startswith(labels)
        }
        if doomed:
            run.record(GaveUp(jobs=doomed))
        elif not run.advance():
            return


def resume(run: ScriptedRun) -> ScriptedRun:
    run.record(Resumed())
    return run.finish()


# --- invalid tasks ------------------------------------------------------------------------------


def test_a_filtered_val_task_is_left_out_of_both_arms():
    run = ScriptedRun(filtered="val-unknown").finish()
    for event in of_type(run, Gated):
        assert event.pairs == 3
        assert event.measurement.items["val-unknown"].status == "invalid"
    assert run.state.finished and run.state.finished.reason == "saturated"


def test_a_batch_of_invalid_tasks_only_is_skipped_instead_of_pausing_for_ever():
    plan = make_plan(settings={"train": {"num_epochs": 1, "batch_size": 1}})
    run = ScriptedRun(plan, filtered="train-3").finish()
    assert run.state.finished
    number = next(e.step for e in of_type(run, StepStarted) if e.items == ("train-3",))
    [skipped] = [e for e in of_type(run, Skipped) if e.step == number]
    assert skipped.reason == "no_edits"


def test_a_test_split_of_invalid_tasks_does_not_keep_the_run_from_ending():
    run = ScriptedRun(filtered="test-").finish()
    assert run.state.finished
    assert run.state.measured[(run.state.best, "test")].hard is None


def test_val_without_any_valid_task_pauses_and_says_so():
    run = ScriptedRun(filtered="val-").finish()
    assert run.state.paused and run.state.paused.why == "coverage"
    assert "every item is invalid" in run.state.paused.detail


class Touchy(Models):
    """A content filter that refuses every prompt with a learnt rule in it."""

    def attempt(self, spec, blobs) -> Body:
        if b"Always say" in blobs.read(spec.skill):
            return Models(filtered="Task").attempt(spec, blobs)
        return super().attempt(spec, blobs)


def test_a_candidate_that_the_content_filter_refuses_everywhere_is_rejected():
    run = ScriptedRun(models=Touchy()).finish()
    assert run.state.finished
    verdicts = {event.verdict for event in of_type(run, Gated)}
    assert verdicts == {"reject"}
    assert run.state.best == run.plan.initial_key


# --- infrastructure -----------------------------------------------------------------------------


def test_missing_val_results_make_the_gate_indecisive_and_name_the_tasks():
    run = ScriptedRun().until(Proposed)
    give_up(run, "step 1 / gate / val-beta", "step 1 / gate / val-gamma")
    gated, paused = run.events[-2:]
    assert isinstance(gated, Gated) and gated.verdict == "indecisive"
    assert isinstance(paused, Paused) and paused.why == "coverage"
    assert "2 of 4 items have no score (val-beta, val-gamma)" in paused.detail
    assert "server_error: 503" in paused.detail
    assert run.state.current == run.plan.initial_key


def test_after_an_indecisive_gate_the_missing_jobs_decide():
    run = ScriptedRun().until(Proposed)
    give_up(run, "step 1 / gate / val-beta")
    resume(run)
    verdicts = [event.verdict for event in of_type(run, Gated) if event.step == 1]
    assert verdicts == ["indecisive", "accept"]


def test_many_missing_tasks_are_counted_not_listed():
    splits = make_plan().splits.model_copy(
        update={"val": tuple(item(f"v{i}", f"w{i}") for i in range(9))}
    )
    run = ScriptedRun(make_plan(splits=splits))
    give_up(run, "baseline")
    assert run.state.paused
    assert "9 of 9 items have no score (v0, v1, v2, v3, v4 and 4 more)" in run.state.paused.detail


def test_enough_coverage_goes_on_with_missing_items_recorded():
    run = ScriptedRun(make_plan(settings={"evaluation": {"min_coverage": 0.75}}))
    give_up(run, "baseline / val-unknown")
    assert run.state.finished
    baseline = of_type(run, Measured)[0].measurement
    assert (baseline.items["val-unknown"].status, baseline.coverage) == ("missing", 0.75)


def test_no_analyst_is_paid_for_a_batch_that_must_be_completed_first():
    """The analysts would be asked again, about the whole shard, after the run is resumed."""
    run = ScriptedRun().until(StepStarted)
    give_up(run, "step 1 / rollout")
    assert run.state.paused and run.state.paused.why == "coverage"
    asked = [job for job in run.performed.values() if isinstance(job.spec, OptimizeSpec)]
    assert asked == []


def test_a_shard_with_a_given_up_attempt_waits_for_the_rest_of_the_batch():
    run = ScriptedRun().until(StepStarted)
    rollouts = [job for job in look(run).wanted if " / rollout / " in job.label]
    lost, others = rollouts[:2], rollouts[2:]
    run.record(GaveUp(jobs={lost[0].id: "timeout"}))
    shard = lost[1].label.split(" / ")[2]
    while own := [job for job in look(run).wanted if f" / {shard} / " in job.label]:
        run.perform(own[0])
    waiting = look(run).wanted
    assert {job.id for job in others} <= {job.id for job in waiting}
    assert not [job for job in waiting if isinstance(job.spec, OptimizeSpec)]


@pytest.mark.parametrize("stage", ["reflect", "merge", "rank"])
def test_an_optimizer_call_that_cannot_be_made_pauses_and_then_changes_nothing(stage):
    plan = make_plan(settings={"optimizer": {"learning_rate": 1, "lr_scheduler": "constant"}})
    undisturbed = ScriptedRun(plan).finish()
    run = ScriptedRun(plan)
    give_up(run, f"step 1 / {stage}")
    assert run.state.paused and run.state.paused.why == "infrastructure"
    assert "server_error: 503" in run.state.paused.detail
    resume(run)
    kept = [e for e in run.events if not isinstance(e, GaveUp | Paused | Resumed)]
    assert kept == undisturbed.events


def test_a_given_up_background_test_pauses_only_at_the_end():
    run = ScriptedRun()
    give_up(run, "initial test")
    assert run.state.paused and run.state.paused.detail.startswith("final test")
    assert len(run.state.steps) == 4
    assert resume(run).state.finished
