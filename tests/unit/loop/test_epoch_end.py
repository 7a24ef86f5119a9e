from __future__ import annotations

import json

import pytest
from epoch_values import crowded, of_epochs, two_epochs
from loop_values import look, of_type
from scripted_models import stage_of
from scripted_run import Models, ScriptedRun

from skillopt.domain.events import Compared, Finished, Gated, MetaLearned, Proposed, StepStarted
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Stop
from skillopt.domain.steering_events import GaveUp, Paused, Resumed
from skillopt.loop.epoch_end import is_due
from skillopt.loop.fold import fold


def after_last_step(run: ScriptedRun) -> list[type]:
    """Give the sorts of events after the fourth step's gate."""
    steps = [n for n, event in enumerate(run.events) if isinstance(event, Gated)]
    last = max(n for n in steps if run.events[n].source == "step")  # type: ignore[union-attr]
    return [type(event) for event in run.events[last + 1 :]]


def with_stop(plan: RunPlan, **stop: float) -> RunPlan:
    changed = plan.settings.model_copy(update={"stop": Stop.model_validate(stop)})
    return plan.model_copy(update={"settings": changed})


def test_the_events_of_an_epoch_end_have_a_fixed_order():
    assert after_last_step(crowded().finish()) == [
        Compared,
        Proposed,
        Gated,
        MetaLearned,
        Finished,
    ]


def test_slow_update_and_meta_skill_each_work_alone():
    slow = crowded(two_epochs(use_meta_skill=False)).finish()
    assert after_last_step(slow) == [Compared, Proposed, Gated, Finished]
    meta = crowded(two_epochs(use_slow_update=False)).finish()
    assert after_last_step(meta) == [Compared, MetaLearned, Finished]


def test_with_both_off_an_epoch_just_ends():
    run = crowded(two_epochs(use_meta_skill=False, use_slow_update=False)).finish()
    assert after_last_step(run) == [Finished]


def test_the_first_epoch_has_no_epoch_before_to_compare_with():
    run = crowded(of_epochs(two_epochs(), 1)).finish()
    assert not of_type(run, Compared)
    assert run.state.finished


def test_every_later_epoch_has_an_end_the_last_one_too():
    run = crowded(of_epochs(two_epochs(), 4)).finish()
    assert [event.epoch for event in of_type(run, Compared)] == [2, 3, 4]
    assert [event.epoch for event in of_type(run, MetaLearned)] == [2, 3, 4]
    assert not is_due(run.state)


def test_the_next_epoch_begins_with_what_the_slow_update_left():
    run = crowded(of_epochs(two_epochs(), 3)).finish()
    slow = next(e for e in of_type(run, Gated) if e.source == "slow_update")
    third = next(e for e in of_type(run, StepStarted) if e.epoch == 3)
    assert slow.adopted and third.skill == slow.skill
    compared = of_type(run, Compared)[1]
    assert compared.previous == slow.skill


def test_a_run_that_has_reached_its_goal_ends_without_an_epoch_end():
    plan = with_stop(two_epochs(evaluation={"use_gate": True}), target_score=0.5)
    run = ScriptedRun(plan).finish()
    assert run.state.finished and run.state.finished.reason == "target_score"
    assert len(run.state.steps) == 4
    assert not of_type(run, Compared)


def test_guidance_that_reaches_the_goal_ends_the_run():
    plan = with_stop(two_epochs(evaluation={"use_gate": True}), target_score=0.8)
    run = ScriptedRun(of_epochs(plan, 5)).finish()
    assert run.state.finished and run.state.finished.reason == "target_score"
    assert [event.epoch for event in of_type(run, Compared)] == [2]


class Silent(Models):
    """Analysts without an idea; all that is learnt is guidance."""

    def optimize(self, messages) -> str:
        if stage_of(messages).startswith("reflect"):
            return json.dumps({"patch": {"reasoning": "", "edits": []}})
        return super().optimize(messages)


def test_accepted_guidance_counts_as_progress():
    plan = of_epochs(with_stop(two_epochs(evaluation={"use_gate": True}), patience=5), 4)
    run = ScriptedRun(plan, models=Silent()).finish()
    slow = [event for event in of_type(run, Gated) if event.source == "slow_update"]
    assert slow[0].verdict == "accept"
    assert len(run.state.steps) > 5, "the guidance of step 4 starts the count again"


# --- asking -------------------------------------------------------------------------------------


def stages(run: ScriptedRun) -> list[str]:
    return [job.spec.stage for job in look(run).wanted if isinstance(job.spec, OptimizeSpec)]


def test_guidance_and_memory_are_asked_for_together():
    assert stages(crowded().until(Compared)) == ["slow_update", "meta_skill"]


def test_the_memory_stays_wanted_while_the_guidance_is_gated():
    run = crowded().until(Compared)
    [slow, meta] = look(run).wanted
    run.perform(slow)
    run.until(Proposed)
    assert meta.id in [job.id for job in look(run).wanted]
    assert look(run).stage == "epoch 2 / slow update gate"


@pytest.mark.parametrize("first", ["slow_update", "meta_skill"])
def test_whichever_reply_comes_first_the_events_are_the_same(first):
    whole = crowded().finish()
    run = crowded().until(Compared)
    [job] = [
        job
        for job in look(run).wanted
        if isinstance(job.spec, OptimizeSpec) and job.spec.stage == first
    ]
    run.perform(job)
    assert run.finish().events == whole.events


@pytest.mark.parametrize("stage", ["slow_update", "meta_skill"])
def test_a_call_that_cannot_be_made_pauses_and_then_changes_nothing(stage):
    whole = crowded().finish()
    run = crowded().until(Compared)
    [job] = [
        j for j in look(run).wanted if isinstance(j.spec, OptimizeSpec) and j.spec.stage == stage
    ]
    run.record(GaveUp(jobs={job.id: "server_error: 503"}))
    run.finish()
    assert isinstance(run.events[-1], Paused) and run.events[-1].why == "infrastructure"
    run.record(Resumed())
    run.finish()
    kept = [e for e in run.events if not isinstance(e, GaveUp | Paused | Resumed)]
    assert kept == whole.events


def test_a_missing_val_result_makes_the_gate_of_the_guidance_indecisive_first():
    run = crowded().until(Compared).until(Proposed)
    lost = next(job for job in look(run).wanted if "gate / val-beta" in job.label)
    run.record(GaveUp(jobs={lost.id: "timeout"}))
    run.finish()
    assert isinstance(run.events[-1], Paused)
    run.record(Resumed())
    run.finish()
    verdicts = [event.verdict for event in of_type(run, Gated) if event.source == "slow_update"]
    assert verdicts == ["indecisive", "reject"]
    assert run.state.finished


def test_an_epoch_end_goes_on_from_its_log_when_all_results_are_lost():
    whole = crowded().finish()
    length = next(n for n, e in enumerate(whole.events) if isinstance(e, Compared)) + 1
    run = crowded()
    run.events = whole.events[:length]
    run.state = fold(run.plan, run.events)
    assert run.finish().events == whole.events


def test_attempts_that_cannot_be_had_again_pause_the_run():
    whole = crowded().finish()
    length = next(n for n, e in enumerate(whole.events) if isinstance(e, Compared)) + 1
    run = crowded()
    run.events = whole.events[:length]
    run.state = fold(run.plan, run.events)
    lost = look(run).wanted[0]
    run.record(GaveUp(jobs={lost.id: "timeout"}))
    run.finish()
    assert isinstance(run.events[-1], Paused)
    assert "not there any more" in run.events[-1].detail
    run.record(Resumed())
    assert run.finish().state.finished
