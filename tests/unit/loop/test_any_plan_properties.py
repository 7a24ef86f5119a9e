"""What holds for every run, whatever its modes and switches."""

from __future__ import annotations

from typing import get_args

import pytest
from any_plan import EVERYTHING, MARK, SECRET, everything, plans
from epoch_values import Crowded
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_run import Models, ScriptedRun

from skillopt.domain.events import Gated, decode_event, encode_event
from skillopt.domain.jobs import OptimizeSpec, OptimizeStage
from skillopt.domain.messages import decode_messages
from skillopt.domain.plan import RunPlan
from skillopt.loop.fold import fold
from skillopt.loop.gate import score_of

MOODY = Models(spread=0.7)
#: Obedient models, moody ones, and ones for whom a new rule pushes an old one out.
models = st.sampled_from([Models(), MOODY, Crowded()])
#: Stages that show two documents, and those that may hold whole texts as proposals.
TWICE = ("slow_update", "meta_skill")
PROPOSALS = ("merge", "rank", "learning_rate")


def finished(plan: RunPlan, models: Models, order_seed: int | None = None) -> ScriptedRun:
    run = ScriptedRun(plan, models=models, order_seed=order_seed).finish()
    assert run.state.finished, run.state.paused
    return run


def test_the_examples_ask_for_every_stage():
    asked = {
        stage for name in EVERYTHING for stage, _ in prompts(finished(everything(name), MOODY))
    }
    assert asked == set(get_args(OptimizeStage))


def test_the_examples_decide_in_every_way():
    gates = [gate for name in EVERYTHING for gate in finished(everything(name), MOODY).state.gates]
    assert {gate.verdict for gate in gates} == {"accept", "reject"}
    assert {gate.source for gate in gates} == {"step", "slow_update"}
    assert any(gate.forced for gate in gates)


@pytest.mark.parametrize("name", EVERYTHING)
def test_everything_together_holds_too(name):
    run = finished(everything(name), MOODY)
    check_all(run)
    for order in range(3):
        assert finished(everything(name), MOODY, order).events == run.events


@settings(max_examples=30, deadline=None)
@given(plan=plans(), models=models, order=st.integers(0, 2**32))
def test_the_order_of_results_changes_no_event(plan, models, order):
    in_order = finished(plan, models)
    assert finished(plan, models, order).events == in_order.events


@settings(max_examples=60, deadline=None)
@given(plan=plans(), models=models)
def test_what_holds_for_every_run(plan, models):
    check_all(finished(plan, models))


def check_all(run: ScriptedRun) -> None:
    check_that_the_log_gives_the_state(run)
    check_that_best_was_accepted(run)
    check_that_measurements_are_whole(run)
    check_that_held_out_tasks_stay_secret(run)
    check_that_documents_are_shown_once(run)


def check_that_the_log_gives_the_state(run: ScriptedRun) -> None:
    stored = [decode_event(encode_event(event)) for event in run.events]
    assert stored == run.events
    assert fold(run.plan, stored) == run.state


def check_that_best_was_accepted(run: ScriptedRun) -> None:
    best = run.plan.initial_key
    for length in range(1, len(run.events) + 1):
        state = fold(run.plan, run.events[:length])
        now = state.best
        if now == best:
            continue
        gated = run.events[length - 1]
        assert isinstance(gated, Gated)
        assert (gated.verdict, gated.new_best, gated.skill) == ("accept", True, now)
        score, beaten = (
            score_of(state.measured[(key, "val")], run.plan.settings.evaluation)
            for key in (now, best)
        )
        assert score is not None and beaten is not None and score > beaten
        best = now
    assert run.state.finished and run.state.finished.best == best


def check_that_measurements_are_whole(run: ScriptedRun) -> None:
    items = {item.id for item in run.plan.splits.val}
    documents = {skill for skill, split in run.state.measured if split == "val"}
    assert {run.state.current, run.state.best, run.plan.initial_key} <= documents
    for skill in documents:
        measured = run.state.measured[(skill, "val")]
        assert measured.skill == skill
        assert set(measured.items) == items
        assert measured.coverage == 1.0
    early = [event for event in run.events if isinstance(event, Gated) and event.early]
    assert not any(gated.adopted for gated in early)


def check_that_held_out_tasks_stay_secret(run: ScriptedRun) -> None:
    val = [item.id for item in run.plan.splits.val]
    for _, text in prompts(run):
        assert SECRET not in text
        assert not any(name in text for name in val)


def check_that_documents_are_shown_once(run: ScriptedRun) -> None:
    mode = run.plan.settings.optimizer.skill_update_mode
    for stage, text in prompts(run):
        if mode == "full_rewrite_minibatch" and stage in PROPOSALS:
            continue
        assert text.count(MARK) <= (2 if stage in TWICE else 1), stage


def prompts(run: ScriptedRun) -> list[tuple[str, str]]:
    """Give every optimizer prompt with its stage, without replies that are shown for repair."""
    return [
        (
            job.spec.stage,
            "\n".join(m.content for m in decode_messages(job.blobs[0]) if m.role != "assistant"),
        )
        for job in run.performed.values()
        if isinstance(job.spec, OptimizeSpec)
    ]
