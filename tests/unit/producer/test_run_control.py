"""Pause, resume, cancel and retune: done by whoever leads the run, told in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fleet_double import Bench, decisions, undisturbed
from scripted_run import make_plan

from producer.control import cancel_run, pause_run, resume_run, retune_run
from producer.minutes import active_seconds
from producer.queue.models import ControlReply, Retuning
from producer.requests import Cancel, Pause, Request, Retune
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Budget
from skillopt.domain.steering_events import Cancelled, Paused, Resumed, Retuned
from skillopt.errors import Conflict, InputError, QuotaExceeded
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import Amount, ClaimStatus, Lane, Scope

Control = Callable[..., ControlReply]


def control(bench: Bench, what: Control, plan: RunPlan, *arguments: object) -> ControlReply:
    return what(bench.state, plan.run_id, plan, *arguments, wait=bench._wait)


def in_the_middle(bench: Bench, plan: RunPlan, request: Request) -> str:
    """Drive a run and ask this of it when its second step begins; the job sent then is lost."""
    run = bench.submit(plan).run
    asked: list[str] = []

    def on_the_way(job: WantedJob, lane: Lane) -> str | None:
        if asked or not job.label.startswith("step 2 / rollout"):
            return None
        asked.append(bench.state.requests.post(run, request.model_dump_json()))
        return "lost"

    bench.fleet.mishap = on_the_way
    bench.drive(run)
    assert asked
    bench.fleet.mishap = lambda job, lane: None
    return run


def waiting(bench: Bench, run: str) -> set[str]:
    """Give the jobs that somebody waits for on behalf of a run."""
    tables = bench.state.board._tables  # type: ignore[attr-defined]
    return {job for job in bench.fleet.labels if run in tables.waiting(job)}


# --- pause and resume -------------------------------------------------------------------------


def test_a_run_that_was_paused_and_resumed_decides_as_if_nothing_had_been():
    bench, plan = Bench(), make_plan()
    run = in_the_middle(bench, plan, Pause())
    last = bench.events(run)[-1]
    assert isinstance(last, Paused)
    assert last.why == "requested"
    assert bench.state.runs.open_runs() == []
    reply = control(bench, resume_run, plan)
    assert (reply.run, reply.outcome) == (run, "done")
    assert bench.state.runs.open_runs() == [run], "coordinators take it up again"
    bench.drive(run)
    assert decisions(bench.events(run)) == undisturbed()


def test_a_paused_run_begins_nothing_new_and_keeps_what_workers_are_at():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    taken: list[str] = []

    def first_is_taken(job: WantedJob, lane: Lane) -> str | None:
        if not taken:
            taken.append(job.id)
            bench.state.requests.post(run, Pause().model_dump_json())
            return "killed"  # claimed, and nothing further is heard of it for now
        return "lost"

    bench.fleet.mishap = first_is_taken
    bench.drive(run)
    assert bench.known(plan).status == "paused"
    assert waiting(bench, run) == set(taken)
    assert len(bench.fleet.messages) > 1


def test_the_time_of_a_pause_is_no_active_time():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    bench.clock.now += 10
    control(bench, pause_run, plan)
    bench.clock.now += 1_000
    control(bench, resume_run, plan)
    bench.clock.now += 5
    control(bench, cancel_run, plan)
    bench.clock.now += 1_000
    assert active_seconds(bench.state.runs.log(run)) == 15


def test_pausing_a_run_that_nobody_drives_is_done_at_once():
    bench, plan = Bench(), make_plan()
    bench.submit(plan)
    assert control(bench, pause_run, plan).outcome == "done"
    again = control(bench, pause_run, plan)
    assert (again.outcome, "asked to pause" in again.words) == ("unchanged", True)
    assert control(bench, resume_run, plan).outcome == "done"
    assert control(bench, resume_run, plan).outcome == "unchanged"


def test_a_run_that_nobody_answers_for_is_told_and_does_it_later():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    bench.state.runs.lead(run, "asleep")
    reply = pause_run(bench.state, run, plan, wait=lambda seconds: None)
    assert reply.outcome == "waiting"
    assert "as soon as one looks after the run" in reply.words
    bench.clock.now += 60
    bench.drive(run)
    assert bench.known(plan).status == "paused"


def test_resuming_tries_again_what_was_given_up():
    bench, plan = Bench(), make_plan()
    bench.fleet.mishap = lambda job, lane: "auth: no key" if "val-beta" in job.label else None
    run = bench.submit(plan).run
    bench.drive(run)
    assert bench.known(plan).given_up
    bench.fleet.mishap = lambda job, lane: None
    assert control(bench, resume_run, plan).outcome == "done"
    bench.drive(run)
    assert bench.known(plan).finished
    assert decisions(bench.events(run)) == undisturbed()


def test_resuming_is_held_to_the_owners_quota():
    bench, plan = Bench(), make_plan(owner="ann")
    run = bench.submit(plan).run
    control(bench, pause_run, plan)
    bench.state.quotas.set("ann", max_runs=0, max_window=None)
    with pytest.raises(QuotaExceeded, match="'ann' has 0 open run"):
        control(bench, resume_run, plan)
    assert bench.known(plan).status == "paused"
    assert bench.state.requests.pending(run) == [], "it is not done behind their back later"
    bench.state.quotas.set("ann", max_runs=1, max_window=None)
    assert control(bench, resume_run, plan).outcome == "done"


# --- budgets ----------------------------------------------------------------------------------


def test_a_run_out_of_budget_is_resumed_after_a_retune_and_not_before():
    bench, plan = Bench(), make_plan(budget=Budget(max_calls=3))
    run = bench.submit(plan).run
    bench.drive(run)
    with pytest.raises(
        Conflict, match=r"budget.max_calls is used up.*retune .* --set budget.max_calls="
    ):
        control(bench, resume_run, plan)
    control(bench, retune_run, plan, Retuning(priority="high"))
    with pytest.raises(Conflict):
        control(bench, resume_run, plan)
    reply = control(bench, retune_run, plan, Retuning(max_calls=None))
    assert "max_calls none" in reply.words
    assert "paused: `skillopt resume`" in reply.words
    assert control(bench, resume_run, plan).outcome == "done"
    bench.drive(run)
    assert bench.known(plan).finished
    assert decisions(bench.events(run))[-1] == undisturbed()[-1]


def test_a_run_out_of_minutes_is_resumed_after_a_retune_and_not_before():
    bench, plan = Bench(), make_plan(budget=Budget(max_minutes=1))
    run = bench.submit(plan).run
    bench.clock.now += 120
    lead = bench.state.runs.lead(run, "c")
    assert lead is not None
    pause = Paused(why="budget", detail="the run has been active for 2 of 1 minutes")
    bench.state.runs.step(
        lead, version=1, events=[pause.model_dump_json()], status="paused", open=False
    )
    bench.state.runs.resign(lead)
    with pytest.raises(Conflict, match=r"budget\.max_minutes="):
        control(bench, resume_run, plan)
    control(bench, retune_run, plan, Retuning(max_minutes=5))
    assert control(bench, resume_run, plan).outcome == "done"


def test_a_run_that_its_owner_cannot_pay_for_is_resumed_as_it_is():
    bench, plan = Bench(), make_plan(owner="ann")
    bench.state.budgets.set_shared_caps(Scope("owner", "ann"), {"calls": 3})
    run = bench.submit(plan).run
    bench.drive(run)
    assert bench.known(plan).paused
    bench.state.budgets.set_shared_caps(Scope("owner", "ann"), {"calls": None})
    assert control(bench, resume_run, plan).outcome == "done"
    bench.drive(run)
    assert bench.known(plan).finished


def test_a_raised_budget_is_in_force_while_the_run_goes_on():
    bench, plan = Bench(), make_plan(budget=Budget(max_calls=1_000))
    run = in_the_middle(bench, plan, Retune(changes={"max_calls": 2}))
    state = bench.known(plan)
    assert state.budget.max_calls == 2
    assert state.paused is not None
    assert state.paused.why == "budget"
    assert sum(bench.state.budgets.spend(run).calls.values()) < 1_000


def test_a_lapse_between_the_log_and_the_meter_is_mended_by_the_next_coordinator():
    bench, plan = Bench(), make_plan(budget=Budget(max_calls=3))
    run = bench.submit(plan).run
    bench.drive(run)
    set_caps = bench.state.budgets.set_caps
    bench.state.budgets.set_caps = lambda run, caps: None  # type: ignore[method-assign]
    control(bench, retune_run, plan, Retuning(max_calls=1_000))
    bench.state.budgets.set_caps = set_caps  # type: ignore[method-assign]
    with pytest.raises(Conflict):
        control(bench, resume_run, plan)
    bench.submit(plan.model_copy(update={"budget": Budget(max_calls=1_000)}))
    bench.drive(run)
    assert bench.known(plan).finished


# --- retune -----------------------------------------------------------------------------------


def test_stop_rules_in_force_end_a_run():
    bench, plan = Bench(), make_plan()
    in_the_middle(bench, plan, Retune(changes={"target_score": 0.01}))
    state = bench.known(plan)
    assert state.finished is not None
    assert state.finished.reason == "target_score"
    assert state.stop.target_score == 0.01


def test_a_retune_names_only_what_is_other_than_before():
    bench, plan = Bench(), make_plan(budget=Budget(max_calls=50))
    run = bench.submit(plan).run
    retuning = Retuning(priority="high", max_calls=50, window=8)
    reply = control(bench, retune_run, plan, retuning)
    assert reply.words.endswith("priority high, window 8")
    last = bench.events(run)[-1]
    assert isinstance(last, Retuned)
    assert last.changed == ("priority", "window")
    assert last.budget == Budget(max_calls=50)
    assert control(bench, retune_run, plan, retuning).outcome == "unchanged"
    lifted = control(bench, retune_run, plan, Retuning(window=None))
    assert lifted.words.endswith("window none")
    state = bench.known(plan)
    assert (state.priority, state.window) == ("high", None)


@pytest.mark.parametrize(
    ("retuning", "words"),
    [
        (Retuning(), "nothing to change is named"),
        (Retuning(max_calls=0), "'max_calls': 0"),
        (Retuning(target_score=0), "'target_score': 0"),
        (Retuning(priority=None), "priority: None"),
    ],
)
def test_values_that_cannot_be_in_force_are_refused(retuning: Retuning, words: str):
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    with pytest.raises(InputError, match=words):
        control(bench, retune_run, plan, retuning)
    assert len(bench.events(run)) == 1


@pytest.mark.parametrize("priced", [True, False])
def test_money_is_limited_only_where_calls_have_prices(priced: bool):
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    with pytest.raises(Conflict, match="no call yet"):
        control(bench, retune_run, plan, Retuning(max_usd=5))
    bench.state.budgets.reserve(
        run, "c", job="j", role="target", estimate=Amount(calls=1), priced=priced
    )
    bench.state.budgets.settle(run, "c", input_tokens=1, output_tokens=1, micro_usd=1)
    if priced:
        assert control(bench, retune_run, plan, Retuning(max_usd=5)).outcome == "done"
    else:
        with pytest.raises(Conflict, match="calls without a price"):
            control(bench, retune_run, plan, Retuning(max_usd=5))


# --- cancel -----------------------------------------------------------------------------------


def test_a_cancelled_run_waits_for_nothing_and_is_over():
    bench, plan = Bench(), make_plan()
    run = in_the_middle(bench, plan, Cancel())
    assert isinstance(bench.events(run)[-1], Cancelled)
    assert bench.known(plan).status == "cancelled"
    assert waiting(bench, run) == set()
    assert bench.state.runs.open_runs() == []
    assert bench.state.shares.demands("sim") == []
    info = bench.state.runs.info(run)
    assert info is not None
    assert info.status == "cancelled"


def test_a_run_whose_coordinator_is_dead_leaves_nothing_when_it_is_cancelled():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    bench.fleet.mishap = lambda job, lane: (
        "killed" if job.label.startswith("step 1 / rollout") else None
    )
    bench.doorbell.idle = bench.stop.set
    bench.drive(run)  # stopped there, and never heard of again
    assert waiting(bench, run)
    assert control(bench, cancel_run, plan).outcome == "done"
    assert waiting(bench, run) == set()


def test_what_another_run_waits_for_is_left_to_it():
    bench, plan = Bench(), make_plan()
    other = plan.model_copy(update={"name": "other"})
    bench.fleet.mishap = lambda job, lane: "lost"
    bench.doorbell.idle = bench.stop.set
    for one in (plan, other):
        bench.submit(one)
        bench.stop.clear()
        bench.drive(one.run_id)
    shared = waiting(bench, other.run_id)
    assert shared == waiting(bench, plan.run_id)
    control(bench, cancel_run, plan)
    assert waiting(bench, plan.run_id) == set()
    assert waiting(bench, other.run_id) == shared
    job = min(shared)
    claim = bench.state.claims.claim(job, run=other.run_id, owner="w", lane="normal")
    assert claim.status is ClaimStatus.RUN


def test_a_paused_run_can_be_cancelled_with_what_workers_were_at():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    bench.fleet.mishap = lambda job, lane: "killed"
    bench.doorbell.idle = bench.stop.set
    bench.drive(run)
    control(bench, pause_run, plan)
    assert waiting(bench, run)
    control(bench, cancel_run, plan)
    assert waiting(bench, run) == set()


def test_a_cancelled_run_answers_in_words():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    control(bench, cancel_run, plan)
    before = bench.events(run)
    assert control(bench, cancel_run, plan).outcome == "unchanged"
    assert "cancelled" in control(bench, pause_run, plan).words
    with pytest.raises(Conflict, match="submit its spec again"):
        control(bench, resume_run, plan)
    with pytest.raises(Conflict, match="submit its spec again"):
        control(bench, retune_run, plan, Retuning(priority="low"))
    assert bench.events(run) == before


def test_submitting_a_cancelled_run_again_goes_on_with_it():
    bench, plan = Bench(), make_plan()
    run = in_the_middle(bench, plan, Cancel())
    high = plan.model_copy(update={"priority": "high"})
    assert bench.submit(high).what == "resumed"
    assert [type(event) for event in bench.events(run)[-3:]] == [Cancelled, Retuned, Resumed]
    bench.drive(run)
    assert bench.known(plan).finished
    assert bench.known(plan).priority == "high"
    kept = [e for e in decisions(bench.events(run)) if not isinstance(e, Cancelled | Retuned)]
    assert tuple(kept) == undisturbed()


def test_a_finished_run_answers_in_words():
    bench, plan = Bench(), make_plan()
    bench.run(plan)
    before = bench.events(plan.run_id)
    assert "steps are done" in control(bench, pause_run, plan).words
    assert "steps are done" in control(bench, cancel_run, plan).words
    with pytest.raises(Conflict, match=r"finished, all .* steps are done"):
        control(bench, resume_run, plan)
    with pytest.raises(Conflict, match="cannot be retuned: it is finished"):
        control(bench, retune_run, plan, Retuning(priority="low"))
    assert bench.events(plan.run_id) == before


# --- submitting again -------------------------------------------------------------------------


def test_a_run_at_work_gets_the_budget_and_priority_of_a_spec_that_is_submitted_again():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    lead = bench.state.runs.lead(run, "busy")
    assert lead is not None
    changed = plan.model_copy(update={"priority": "low", "budget": Budget(max_calls=900)})
    assert bench.submit(changed).what == "attached"
    bench.state.runs.resign(lead)
    bench.drive(run)
    [retuned] = [event for event in bench.events(run) if isinstance(event, Retuned)]
    assert retuned.changed == ("max_calls", "priority")


def test_a_new_run_over_quota_leaves_nothing_behind():
    bench = Bench()
    bench.state.quotas.set("ann", max_runs=0, max_window=None)
    with pytest.raises(QuotaExceeded):
        bench.submit(make_plan(owner="ann"))
    assert bench.state.runs.all() == []
    assert bench.state.budgets.shared() == []
