from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from fleet_double import TIMING, Bench
from scripted_run import make_plan

from producer.submit import caps_of, submit
from skillopt.domain.events import RunCreated
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Budget
from skillopt.domain.steering_events import GaveUp, Paused, Resumed
from skillopt.state.ports import Caps


def budget_plan(**budget: Any) -> RunPlan:
    return make_plan(budget=Budget(**budget))


def drive_until(bench: Bench, run: str, stage: str) -> None:
    """Have a coordinator work on a run up to a stage, then stop as at Ctrl-C."""
    bench.fleet.mishap = lambda job, lane: "lost" if job.label.startswith(stage) else None
    bench.doorbell.idle = bench.stop.set
    bench.drive(run)
    bench.stop.clear()
    bench.fleet.mishap, bench.doorbell.idle = lambda job, lane: None, lambda: None


# --- a new run ----------------------------------------------------------------------------------


def test_a_new_plan_creates_a_run_that_waits_for_a_coordinator():
    bench, plan = Bench(), make_plan()
    submission = bench.submit(plan)
    assert (submission.what, submission.run) == ("created", plan.run_id)
    assert bench.state.runs.open_runs() == [plan.run_id]
    [created] = bench.events(plan.run_id)
    assert isinstance(created, RunCreated)
    assert created.skill == plan.initial_key
    stored = bench.state.blobs.get([created.plan])[created.plan]
    assert RunPlan.model_validate_json(stored) == plan


def test_meta_is_kept_with_the_plan_and_the_name():
    bench, plan = Bench(), make_plan()
    submit(bench.state, plan, meta={"skill": "SKILL.md"}, wait=lambda seconds: None)
    info = bench.state.runs.info(plan.run_id)
    assert info is not None
    assert (info.meta["skill"], info.meta["name"]) == ("SKILL.md", "greeter")


def test_caps_are_in_force_before_a_coordinator_can_see_the_run():
    """Otherwise one that looks between the two would make calls without a budget."""
    bench = Bench()
    order: list[str] = []

    class Runs:
        def create(self, run: str, **more: Any) -> bool:
            order.append("create")
            return bench.state.runs.create(run, **more)

        def __getattr__(self, name: str) -> Any:
            return getattr(bench.state.runs, name)

    class Budgets:
        def set_caps(self, run: str, caps: Caps) -> None:
            order.append("caps")
            bench.state.budgets.set_caps(run, caps)

        def join(self, run: str, *, owner: str, team: str) -> None:
            order.append("payers")
            bench.state.budgets.join(run, owner=owner, team=team)

    state = replace(bench.state, runs=cast(Any, Runs()), budgets=cast(Any, Budgets()))
    submit(state, budget_plan(max_calls=3), meta={}, wait=lambda seconds: None)
    assert order == ["payers", "caps", "create"]


@pytest.mark.parametrize(
    ("budget", "caps"),
    [
        ({}, Caps()),
        ({"max_calls": 5, "max_tokens": 7}, Caps(calls=5, tokens=7)),
        ({"max_usd": 0.1}, Caps(micro_usd=100_000)),
        ({"max_usd": 1.15}, Caps(micro_usd=1_150_000)),
        ({"max_minutes": 3.0}, Caps()),
    ],
)
def test_a_budget_becomes_caps(budget, caps):
    assert caps_of(Budget(**budget)) == caps


# --- a run that exists --------------------------------------------------------------------------


def test_a_finished_run_is_left_as_it_is():
    bench, plan = Bench(), make_plan()
    bench.run(plan)
    before = bench.state.runs.log(plan.run_id)
    assert bench.submit(budget_plan(max_calls=9)).what == "finished"
    assert bench.state.runs.log(plan.run_id) == before
    assert bench.state.runs.open_runs() == []


def test_a_run_with_a_coordinator_is_attached_to_and_only_its_caps_change():
    bench, plan = Bench(), make_plan()
    bench.submit(plan)
    assert bench.state.runs.lead(plan.run_id, "c1") is not None
    before = bench.state.runs.log(plan.run_id)
    assert bench.submit(plan).what == "attached"
    assert bench.state.runs.log(plan.run_id) == before
    assert bench.state.runs.lead(plan.run_id, "c1") is not None, "the coordinator keeps its lead"


def test_a_paused_run_is_resumed_under_the_new_budget():
    bench = Bench()
    small, large = budget_plan(max_calls=5), budget_plan(max_calls=500, max_minutes=10)
    assert bench.run(small).paused
    assert bench.submit(large).what == "resumed"
    assert bench.events(small.run_id)[-1] == Resumed(budget=large.budget)
    assert bench.state.runs.open_runs() == [small.run_id]
    assert bench.known(small).budget == large.budget


def test_what_was_given_up_is_tried_anew():
    bench, plan = Bench(), make_plan()
    bench.fleet.mishap = lambda job, lane: "server_error: 503"
    assert bench.run(plan).paused
    given_up = [e for e in bench.events(plan.run_id) if isinstance(e, GaveUp)]
    jobs = {job for event in given_up for job in event.jobs}
    sent = len(bench.fleet.messages)
    bench.submit(plan)
    assert bench.known(plan).given_up == {}
    bench.fleet.mishap = lambda job, lane: None
    bench.drive(plan.run_id)
    again = {job for job, _ in bench.fleet.messages[sent:]}
    assert jobs <= again
    assert bench.known(plan).finished


def test_the_lead_is_given_back_at_once():
    bench, plan = Bench(), make_plan()
    bench.run(budget_plan(max_calls=5))
    bench.submit(plan)
    assert bench.state.runs.lead(plan.run_id, "c9") is not None


def test_a_run_that_lost_its_coordinator_goes_on_under_the_new_budget():
    """The driver goes by the log: a raised limit that is not in it would not be obeyed."""
    bench = Bench()
    small, large = budget_plan(max_minutes=5), budget_plan(max_minutes=50)
    run = bench.submit(small).run
    drive_until(bench, run, "step 2")
    assert bench.known(small).status == "running"
    assert bench.submit(large).what == "resumed"
    assert bench.known(small).budget.max_minutes == 50
    bench.drive(run)
    assert bench.known(small).finished


def test_the_night_between_ctrl_c_and_the_same_command_costs_no_minutes():
    bench, plan = Bench(), budget_plan(max_minutes=60)
    run = bench.submit(plan).run
    for step in (1, 2, 3):
        drive_until(bench, run, f"step {step}")
        bench.clock.now += 86_400
        assert bench.submit(plan).what == "resumed"
    bench.drive(run)
    assert not [e for e in bench.events(run) if isinstance(e, Paused)]
    assert bench.known(plan).finished


def test_a_coordinator_about_to_let_go_of_a_paused_run_is_waited_for():
    bench, plan = Bench(), make_plan()
    bench.run(budget_plan(max_calls=5))
    lead = bench.state.runs.lead(plan.run_id, "c1")
    assert lead is not None
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            bench.state.runs.resign(lead)

    assert submit(bench.state, plan, meta={}, wait=wait).what == "resumed"
    assert len(waits) == 3


def test_a_coordinator_that_died_after_the_pause_is_waited_for_until_its_lease_ends():
    bench, plan = Bench(), make_plan()
    bench.run(budget_plan(max_calls=5))
    assert bench.state.runs.lead(plan.run_id, "dead") is not None

    def wait(seconds: float) -> None:
        bench.clock.now += seconds

    began = bench.clock.now
    assert submit(bench.state, plan, meta={}, wait=wait).what == "resumed"
    assert bench.clock.now - began >= TIMING.lead_s


def test_a_run_that_moves_meanwhile_is_looked_at_again():
    bench, plan = Bench(), make_plan()
    bench.run(budget_plan(max_calls=5))
    tries: list[int] = []

    class Runs:
        def step(self, lead: Any, *, version: int, events: Sequence[str], **more: Any) -> int:
            tries.append(version)
            stale = version - 1 if len(tries) == 1 else version
            return bench.state.runs.step(lead, version=stale, events=events, **more)

        def __getattr__(self, name: str) -> Any:
            return getattr(bench.state.runs, name)

    state = replace(bench.state, runs=cast(Any, Runs()))
    assert submit(state, plan, meta={}, wait=lambda seconds: None).what == "resumed"
    assert len(tries) == 2


def test_a_run_that_finishes_while_it_is_submitted_stays_finished():
    bench, plan = Bench(), make_plan()
    bench.submit(plan)

    class Runs:
        def lead(self, run: str, owner: str) -> Any:
            if bench.state.runs.open_runs():
                bench.drive(run)
            return bench.state.runs.lead(run, owner)

        def __getattr__(self, name: str) -> Any:
            return getattr(bench.state.runs, name)

    state = replace(bench.state, runs=cast(Any, Runs()))
    assert submit(state, plan, meta={}, wait=lambda seconds: None).what == "finished"
    assert bench.known(plan).finished
    assert not [e for e in bench.events(plan.run_id) if isinstance(e, Resumed)]


def test_other_settings_are_another_run_and_a_replica_too():
    bench = Bench()
    plans: Mapping[str, RunPlan] = {
        "plain": make_plan(),
        "settings": make_plan(settings={"train": {"num_epochs": 1}}),
        "skill": make_plan(skill="# Other\n"),
        "replica": make_plan(replica=1),
    }
    runs = {bench.submit(plan).run for plan in plans.values()}
    assert len(runs) == len(plans)
