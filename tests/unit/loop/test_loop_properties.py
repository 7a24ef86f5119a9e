"""What holds for every run, however its results arrive and whatever fails on the way."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest
from any_plan import everything
from epoch_values import Crowded
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_run import Models, ScriptedRun, make_plan

from skillopt.domain.events import (
    Compared,
    Event,
    Gated,
    MetaLearned,
    StepStarted,
    decode_event,
    encode_event,
)
from skillopt.domain.plan import RunPlan
from skillopt.domain.steering_events import GaveUp, Paused, Resumed
from skillopt.loop.decide import decide
from skillopt.loop.fold import fold

#: Pauses after which nothing fails any more, so that every run ends.
MOST_PAUSES = 4


def several_samples() -> RunPlan:
    return make_plan(
        settings={
            "train": {"num_epochs": 1, "batch_size": 3, "samples": 2},
            "evaluation": {"samples": 2},
            "optimizer": {"learning_rate": 1, "min_learning_rate": 1},
        }
    )


def with_epoch_ends() -> RunPlan:
    return make_plan(
        settings={
            "optimizer": {
                "learning_rate": 1,
                "min_learning_rate": 1,
                "use_slow_update": True,
                "use_meta_skill": True,
                "slow_update_samples": 3,
                "longitudinal_pair_policy": "changed",
            },
            "evaluation": {"use_gate": False},
        }
    )


PLANS: dict[str, Callable[[], RunPlan]] = {
    "plain": make_plan,
    "early": lambda: make_plan(settings={"evaluation": {"early_decision": True}}),
    "epoch ends": with_epoch_ends,
    "everything": lambda: everything("edits"),
    "samples": several_samples,
    "no edits": lambda: make_plan(
        settings={"optimizer": {"learning_rate": 1, "min_learning_rate": 0}}
    ),
}


def run_of(plan: str, *, garbles: bool = False, order_seed: int | None = None) -> ScriptedRun:
    """Give a run that has not begun; in the early plan, learning something costs something."""
    models = Crowded(garbles=garbles) if plan == "early" else Models(garbles=garbles, spread=0.3)
    return ScriptedRun(PLANS[plan](), models=models, order_seed=order_seed)


@cache
def undisturbed(plan: str, garbles: bool = False) -> tuple[Event, ...]:
    return tuple(run_of(plan, garbles=garbles).finish().events)


def decisions(events: list[Event]) -> list[Event]:
    """Leave out what only tells of the disturbance."""
    return [
        event
        for event in events
        if not isinstance(event, GaveUp | Paused | Resumed)
        and not (isinstance(event, Gated) and event.verdict == "indecisive")
    ]


def test_the_examples_are_worth_disturbing():
    verdicts = {e.verdict for e in undisturbed("plain") if isinstance(e, Gated)}
    assert verdicts == {"accept", "reject"}
    kinds = {type(event) for event in undisturbed("epoch ends")}
    assert {Compared, MetaLearned} <= kinds
    assert any(e.early for e in undisturbed("early") if isinstance(e, Gated))
    budgets = [e.edit_budget for e in undisturbed("no edits") if isinstance(e, StepStarted)]
    assert {0, 1} <= set(budgets)


# --- order --------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), plan=st.sampled_from(sorted(PLANS)), garbles=st.booleans())
def test_the_order_in_which_results_arrive_changes_nothing(seed, plan, garbles):
    run = run_of(plan, order_seed=seed, garbles=garbles).finish()
    assert tuple(run.events) == undisturbed(plan, garbles)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), plan=st.sampled_from(sorted(PLANS)))
def test_results_in_bunches_change_nothing_either(seed, plan):
    run, luck = run_of(plan), random.Random(seed)
    while True:
        decision = decide(run.state, run, run.factory)
        for event in decision.events:
            run.record(event)
        if not decision.events and not decision.wanted:
            break
        wanted = list(decision.wanted)
        for job in luck.sample(wanted, luck.randint(1, len(wanted)) if wanted else 0):
            run.perform(job)
    assert tuple(run.events) == undisturbed(plan)


# --- infrastructure -----------------------------------------------------------------------------


def disturbed(plan: str, seed: int, rate: float) -> ScriptedRun:
    """Drive a run in which jobs are given up at random; whenever it pauses, it is resumed."""
    run, luck, pauses = run_of(plan), random.Random(seed), 0
    while True:
        if run.state.paused:
            run.record(Resumed())
            pauses += 1
        decision = decide(run.state, run, run.factory)
        for event in decision.events:
            run.record(event)
        if run.state.finished:
            return run
        if not decision.wanted:
            continue
        job = luck.choice(decision.wanted)
        if pauses < MOST_PAUSES and luck.random() < rate:
            run.record(GaveUp(jobs={job.id: "rate_limited: 429"}))
        else:
            run.perform(job)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    rate=st.sampled_from([0.02, 0.1, 0.5]),
    plan=st.sampled_from(sorted(PLANS)),
)
def test_failures_of_the_infrastructure_change_no_score_and_no_decision(seed, rate, plan):
    run = disturbed(plan, seed, rate)
    assert tuple(decisions(run.events)) == undisturbed(plan)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_run_with_failures_pauses_or_ends_as_if_there_were_none(seed):
    """Without a resumption: what was decided up to the pause is what the other run decided."""
    run, luck = run_of("plain"), random.Random(seed)
    while run.state.status == "running":
        decision = decide(run.state, run, run.factory)
        for event in decision.events:
            run.record(event)
        if decision.wanted:
            job = luck.choice(decision.wanted)
            if luck.random() < 0.01:
                run.record(GaveUp(jobs={job.id: "timeout"}))
            else:
                run.perform(job)
    found = tuple(decisions(run.events))
    assert found == undisturbed("plain")[: len(found)]
    assert run.state.paused or found == undisturbed("plain")


# --- crashes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps_results", [True, False], ids=["with results", "results lost"])
@pytest.mark.parametrize("plan", sorted(PLANS))
def test_any_prefix_of_the_log_continues_to_the_same_end(plan, keeps_results):
    whole = undisturbed(plan)
    before = run_of(plan).finish()
    for length in range(1, len(whole) + 1):
        log = [decode_event(encode_event(event)) for event in whole[:length]]
        run = run_of(plan)
        run.events, run.state = log, fold(run.plan, log)
        if keeps_results:
            run.ledger, run.store = dict(before.ledger), before.store
        assert tuple(run.finish().events) == whole, f"after {length} events"
        assert not (keeps_results and run.performed), "nothing is done twice"


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), plan=st.sampled_from(sorted(PLANS)), data=st.data())
def test_a_crash_in_the_middle_of_a_disturbed_run_loses_nothing(seed, plan, data):
    whole = disturbed(plan, seed, 0.1)
    length = data.draw(st.integers(1, len(whole.events)))
    run = run_of(plan)
    run.events = list(whole.events[:length])
    run.state = fold(run.plan, run.events)
    while not run.state.finished:
        if run.state.paused:
            run.record(Resumed())
        run.advance()
    assert tuple(decisions(run.events)) == undisturbed(plan)
