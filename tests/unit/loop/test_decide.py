from __future__ import annotations

import json

import pytest
from loop_values import look, of_type
from scripted_models import sections, stage_of
from scripted_run import Models, ScriptedRun, item, make_plan

from skillopt.domain.events import (
    Finished,
    Gated,
    Measured,
    Merged,
    Proposed,
    Reflected,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.item import Splits
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.results import Body, JudgementBody, ReplyBody
from skillopt.domain.steering_events import LeftOut, Paused
from skillopt.loop.decide import Decision

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
    best = run.state.texts[run.state.best].skill
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


class Spoiler(Models):
    """An optimizer that forbids everything once something was learnt."""

    def optimize(self, messages) -> str:
        if stage_of(messages) != "reflect_failure":
            return super().optimize(messages)
        if "Always say" not in sections(messages[1].content)["Current skill"]:
            return super().optimize(messages)
        rows = [{"op": "delete", "target": "Always say alpha.", "content": ""}]
        return json.dumps({"patch": {"reasoning": "shorter", "edits": rows}})


def test_best_initial_and_final_documents_are_tested_at_the_end():
    run = ScriptedRun().finish()
    tested = [skill for skill, split in run.state.measured if split == "test"]
    assert set(tested) == {run.state.best, run.plan.initial_key, run.state.current}


def test_the_final_tests_are_wanted_together():
    """A document that was accepted later is best, one that was forced in after it is final."""
    plan = make_plan(settings={"evaluation": {"use_gate": False}})
    run = ScriptedRun(plan, models=Spoiler())
    while look(run).stage != "final test":
        decision = look(run)
        for event in decision.events:
            run.record(event)
        for job in decision.wanted:
            if not job.label.startswith("initial test"):
                run.perform(job)
    assert len({run.state.best, run.state.current, plan.initial_key}) == 3
    assert len(look(run).wanted) == 3 * 2
    tested = [e.measurement.skill for e in of_type(run.finish(), Measured)[1:]]
    assert tested == [run.state.best, plan.initial_key, run.state.current]


def test_without_eval_test_no_test_item_is_ever_run():
    run = ScriptedRun(make_plan(settings={"evaluation": {"eval_test": False}})).finish()
    assert not [job for job in run.performed.values() if "test" in job.label]
    assert run.state.finished


def test_an_evaluation_measures_its_split_and_ends():
    run = ScriptedRun(make_plan(mode="eval", eval_split="val")).finish()
    assert [type(event) for event in run.events[1:]] == [Measured, Finished]
    assert run.state.finished and run.state.finished.reason == "evaluated"
    assert all(job.label.startswith("eval val") for job in run.performed.values())


def test_the_arms_of_an_aa_run_share_no_sample_and_are_wanted_together():
    plan = make_plan(mode="aa", arms=3, settings={"evaluation": {"samples": 2}})
    run = ScriptedRun(plan)
    wanted = look(run).wanted
    samples = {(job.label.split(" / ")[0], job.spec.sample) for job in wanted}
    assert samples == {(f"arm {arm + 1}", 2 * arm + n) for arm in range(3) for n in range(2)}
    assert len({job.id for job in wanted}) == len(wanted) == 3 * 2 * len(plan.splits.val)
    run.finish()
    assert [type(event) for event in run.events[1:]] == [Measured] * 3 + [Finished]
    assert [event.arm for event in of_type(run, Measured)] == [0, 1, 2]
    assert len(run.state.arms) == 3
    assert not run.state.measured, "an arm is no measurement of its own"


def test_an_item_that_was_left_out_does_not_keep_a_run_from_its_goal():
    run = ScriptedRun(make_plan(settings={"stop": {"target_score": 0.99}})).until(Measured)
    run.record(LeftOut(items={"val-unknown": "nobody knows it"}))
    run.finish()
    assert run.state.finished and run.state.finished.reason in ("target_score", "saturated")
    last = of_type(run, Gated)[-1].measurement
    assert last.items["val-unknown"].status == "left_out"


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


# --- what decides -------------------------------------------------------------------------------


class Destructive(Models):
    """An optimizer that takes a useful rule away."""

    def optimize(self, messages) -> str:
        if stage_of(messages) != "reflect_failure":
            return super().optimize(messages)
        rows = [{"op": "delete", "target": "Always say alpha.", "content": ""}]
        return json.dumps({"patch": {"reasoning": "shorter", "edits": rows}})


def test_a_harmful_candidate_is_rejected_and_not_tried_again():
    plan = make_plan(skill="# S\n\nBe nice.\n\nAlways say alpha.\n")
    run = ScriptedRun(plan, models=Destructive()).finish()
    assert [event.verdict for event in of_type(run, Gated)] == ["reject"]
    assert [event.reason for event in of_type(run, Skipped)] == ["already_rejected"] * 3
    assert run.state.best == plan.initial_key


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
