from __future__ import annotations

import json

import pytest
from scripted_run import Models, ScriptedRun, item, make_plan

from skillopt.domain.events import (
    Finished,
    Gated,
    GaveUp,
    Measured,
    Merged,
    Paused,
    Proposed,
    Reflected,
    Resumed,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.item import Splits
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.results import Body, JudgementBody, ReplyBody
from skillopt.loop.decide import Decision, decide


def look(run: ScriptedRun) -> Decision:
    return decide(run.state, run, run.factory)


def of_type(run: ScriptedRun, kind):
    return [event for event in run.events if isinstance(event, kind)]


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


# --- the course of a run ------------------------------------------------------------------------


def test_the_baseline_comes_first_and_the_test_of_the_initial_document_behind_it():
    decision = look(ScriptedRun())
    assert decision.stage == "baseline"
    stages = [job.label.split(" / ")[0] for job in decision.wanted]
    assert stages == ["baseline"] * 4 + ["initial test"] * 2
    assert (decision.done, decision.total) == (0, 4)


def test_a_step_goes_through_every_stage_in_order():
    run = ScriptedRun().until(Gated)
    assert [type(event) for event in run.events[1:]] == [
        Measured,
        StepStarted,
        Reflected,
        Merged,
        Selected,
        Proposed,
        Gated,
    ]


def test_events_come_alone_and_jobs_only_without_events():
    run = ScriptedRun()
    while True:
        decision = look(run)
        assert not (decision.events and decision.wanted)
        if not run.advance():
            break


def test_a_running_run_always_has_something_to_do():
    run = ScriptedRun(order_seed=3)
    while run.state.status == "running":
        decision = look(run)
        assert decision.events or decision.wanted
        run.advance()


@pytest.mark.parametrize("rest", ["finished", "paused"])
def test_a_run_at_rest_wants_nothing(rest):
    run = ScriptedRun()
    if rest == "finished":
        run.finish()
    else:
        run.record(Paused(why="requested", detail=""))
    assert look(run) == Decision(stage=rest)


def test_deciding_twice_gives_the_same():
    run = ScriptedRun(order_seed=1)
    for _ in range(40):
        assert look(run) == look(run)
        run.advance()


def test_the_run_learns_what_val_can_measure():
    run = ScriptedRun().finish()
    best = run.state.texts[run.state.best]
    assert all(f"Always say {word}." in best for word in ("alpha", "beta", "gamma"))
    assert run.state.measured[(run.state.best, "val")].hard == 0.75


def test_analysts_of_a_shard_start_when_its_own_members_are_judged():
    run = ScriptedRun().until(StepStarted)
    while look(run).wanted:
        rollouts = [job for job in look(run).wanted if " / rollout / " in job.label]
        analysts = [job for job in look(run).wanted if isinstance(job.spec, OptimizeSpec)]
        if analysts:
            assert rollouts, "the other shard is still being rolled out"
            return
        run.perform(rollouts[0])
    pytest.fail("no analyst was wanted before the batch was complete")


def test_train_items_of_the_step_are_recorded_with_its_budget():
    run = ScriptedRun().until(StepStarted)
    [started] = of_type(run, StepStarted)
    assert (started.step, started.epoch, started.edit_budget) == (1, 1, 2)
    assert len(started.items) == 4


def test_an_unchanged_document_is_measured_once_only():
    run = ScriptedRun().finish()
    measured = [(e.measurement.skill, e.measurement.split) for e in of_type(run, Measured)]
    assert len(measured) == len(set(measured))


# --- ends ---------------------------------------------------------------------------------------


def test_all_steps_done_is_completed():
    run = ScriptedRun().finish()
    assert isinstance(run.events[-1], Finished)
    assert (run.events[-1].reason, len(run.state.steps)) == ("completed", 4)


def test_a_perfect_baseline_ends_the_run_as_saturated_without_a_step():
    plan = make_plan(skill="# S\n\nAlways say alpha.\n")
    splits = plan.splits.model_copy(update={"val": (item("v", "alpha"),)})
    run = ScriptedRun(plan.model_copy(update={"splits": splits})).finish()
    assert run.state.finished and run.state.finished.reason == "saturated"
    assert not run.state.steps


def test_a_target_score_ends_the_run():
    run = ScriptedRun(make_plan(settings={"stop": {"target_score": 0.5}})).finish()
    assert run.state.finished and run.state.finished.reason == "target_score"
    assert len(run.state.steps) < 4


class Lenient(Models):
    """Every answer is worth seven tenths."""

    def judge(self, spec, blobs) -> Body:
        return JudgementBody(hard=0.0, soft=0.7)


def test_a_target_score_is_reached_in_spite_of_rounding():
    """Three times 0.7 adds up to less than 2.1."""
    plan = make_plan(
        settings={
            "stop": {"target_score": 0.7},
            "evaluation": {"gate_metric": "soft", "eval_test": False},
        }
    )
    splits = plan.splits.model_copy(update={"val": plan.splits.val[:3]})
    run = ScriptedRun(plan.model_copy(update={"splits": splits}), models=Lenient()).finish()
    assert run.state.finished and run.state.finished.reason == "target_score"


def test_patience_ends_a_run_that_does_not_get_better():
    splits = Splits(
        train=tuple(item(f"t{i}", f"word{i}") for i in range(8)), val=(item("v", "other"),)
    )
    plan = make_plan(
        splits=splits,
        settings={"train": {"num_epochs": 3, "batch_size": 2}, "stop": {"patience": 2}},
    )
    run = ScriptedRun(plan).finish()
    assert run.state.finished and run.state.finished.reason == "patience"
    assert len(run.state.steps) == 2


def test_best_initial_and_final_documents_are_tested_at_the_end():
    run = ScriptedRun().finish()
    tested = [skill for skill, split in run.state.measured if split == "test"]
    assert set(tested) == {run.state.best, run.plan.skill_hash, run.state.current}


def test_without_eval_test_no_test_item_is_ever_run():
    run = ScriptedRun(make_plan(settings={"evaluation": {"eval_test": False}})).finish()
    assert not [job for job in run.performed.values() if "test" in job.label]
    assert run.state.finished


def test_an_evaluation_measures_its_split_and_ends():
    run = ScriptedRun(make_plan(mode="eval", eval_split="val")).finish()
    assert [type(event) for event in run.events[1:]] == [Measured, Finished]
    assert run.state.finished and run.state.finished.reason == "evaluated"
    assert all(job.label.startswith("eval val") for job in run.performed.values())


# --- steps without a candidate ------------------------------------------------------------------


def test_a_budget_of_zero_skips_the_step_before_any_rollout():
    optimizer = {"learning_rate": 0, "lr_scheduler": "constant"}
    run = ScriptedRun(make_plan(settings={"optimizer": optimizer})).finish()
    assert [event.reason for event in of_type(run, Skipped)] == ["no_edits"] * 4
    assert not [job for job in run.performed.values() if job.label.startswith("step")]


def test_a_step_whose_analysts_cannot_be_read_is_skipped_and_says_why():
    run = ScriptedRun(garbles=True, repairs=False).until(Skipped)
    [reflected] = of_type(run, Reflected)
    failures = [group for group in reflected.groups if group.kind == "failure"]
    assert {group.status for group in failures} == {"dropped"}
    assert all("asked again" in group.problem for group in failures)


def test_repaired_analysts_lead_to_the_same_document():
    plain, repaired = ScriptedRun().finish(), ScriptedRun(garbles=True).finish()
    assert repaired.state.texts[repaired.state.best] == plain.state.texts[plain.state.best]


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
    assert run.state.best == run.plan.skill_hash


# --- infrastructure -----------------------------------------------------------------------------


def test_missing_val_results_make_the_gate_indecisive_and_name_the_tasks():
    run = ScriptedRun().until(Proposed)
    give_up(run, "step 1 / gate / val-beta", "step 1 / gate / val-gamma")
    gated, paused = run.events[-2:]
    assert isinstance(gated, Gated) and gated.verdict == "indecisive"
    assert isinstance(paused, Paused) and paused.why == "coverage"
    assert "2 of 4 items have no score (val-beta, val-gamma)" in paused.detail
    assert "server_error: 503" in paused.detail
    assert run.state.current == run.plan.skill_hash


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


# --- what decides -------------------------------------------------------------------------------


class Destructive(Models):
    """An optimizer that takes a useful rule away."""

    def optimize(self, messages) -> str:
        if messages[0].content != "Find what failed.":
            return super().optimize(messages)
        rows = [{"op": "delete", "target": "Always say alpha.", "content": ""}]
        return json.dumps({"patch": {"reasoning": "shorter", "edits": rows}})


def test_a_harmful_candidate_is_rejected_and_not_tried_again():
    plan = make_plan(skill="# S\n\nBe nice.\n\nAlways say alpha.\n")
    run = ScriptedRun(plan, models=Destructive()).finish()
    assert [event.verdict for event in of_type(run, Gated)] == ["reject"]
    assert [event.reason for event in of_type(run, Skipped)] == ["already_rejected"] * 3
    assert run.state.best == plan.skill_hash


def test_salted_runs_share_no_job_with_others_except_judgements():
    def jobs(plan) -> set[str]:
        run = ScriptedRun(plan).finish()
        return {job.id for job in run.performed.values() if job.spec.kind != "judge"}

    fresh = make_plan(settings={"cache": "refresh"})
    assert not jobs(make_plan()) & jobs(fresh)
    assert jobs(make_plan()) == jobs(make_plan(name="other"))


class Unlucky(Models):
    """Several samples of a task differ."""

    def attempt(self, spec, blobs) -> Body:
        reply = super().attempt(spec, blobs)
        assert isinstance(reply, ReplyBody)
        return reply.model_copy(update={"text": "" if spec.sample else reply.text})


def test_samples_are_separate_attempts_of_the_same_item():
    plan = make_plan(settings={"evaluation": {"samples": 2}, "train": {"samples": 2}})
    run = ScriptedRun(plan, models=Unlucky()).finish()
    best = run.state.measured[(run.state.best, "val")]
    assert {score.hard for score in best.items.values()} == {0.0, 0.5}


def test_a_test_that_is_also_the_final_one_is_not_wanted_twice():
    """Nothing is learnt, so the best document is the initial one, still being tested."""
    splits = make_plan().splits.model_copy(update={"val": (item("v", "nothing"),)})
    run = ScriptedRun(make_plan(splits=splits))
    while look(run).stage != "final test":
        decision = look(run)
        for event in decision.events:
            run.record(event)
        for job in decision.wanted:
            if not job.label.startswith("initial test"):
                run.perform(job)
    ids = [job.id for job in look(run).wanted]
    assert len(ids) == len(set(ids)) == 2
    assert run.finish().state.finished
