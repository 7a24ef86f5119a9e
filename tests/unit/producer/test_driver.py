from __future__ import annotations

import pytest
from fleet_double import TIMING, Bench, Trouble, decisions, undisturbed
from scripted_run import make_plan

from producer.wants import MIN_ROOM
from skillopt.domain.events import Finished, Measured, RunCreated, StepStarted
from skillopt.domain.spec import Budget
from skillopt.domain.steering_events import GaveUp
from skillopt.domain.view import RunView
from skillopt.errors import StateCorrupt
from skillopt.state.ports import WorkerInfo

# --- the plain course ---------------------------------------------------------------------------


@pytest.mark.parametrize("judges_here", [True, False])
def test_a_run_goes_to_its_end_and_decides_as_the_loop_alone_does(judges_here):
    bench = Bench()
    bench.fleet.judges_here = judges_here
    plan = make_plan()
    state = bench.run(plan)
    assert isinstance(state.finished, Finished)
    assert decisions(bench.events(plan.run_id)) == undisturbed()
    info = bench.state.runs.info(plan.run_id)
    assert info is not None
    assert info.status == "finished"
    assert plan.run_id not in bench.state.runs.open_runs()


def test_every_job_is_sent_and_done_once():
    bench = Bench()
    plan = make_plan()
    bench.run(plan)
    assert len(bench.fleet.executed) == len(set(bench.fleet.executed)) == len(bench.fleet.messages)
    spend = bench.state.budgets.spend(plan.run_id)
    assert spend.executions == len(bench.fleet.executed)
    assert bench.doorbell.waits == 0, "nothing was waited for in vain"


def test_the_mirror_gets_every_event_once_and_in_order():
    bench = Bench()
    plan = make_plan()
    bench.run(plan)
    assert [entry.seq for entry in bench.mirror.entries] == [
        entry.seq for entry in bench.state.runs.log(plan.run_id)
    ]


def test_people_are_told_what_is_done_and_why_it_waits():
    bench = Bench()
    bench.fleet.mishap = Trouble("lost", 99)
    bench.doorbell.idle = bench.stop.set
    run = bench.submit().run
    bench.drive(run)
    view = RunView.model_validate_json(bench.state.runs.view(run) or "")
    assert (view.stage, view.done, view.total) == ("baseline", 0, 4)
    assert view.in_flight == MIN_ROOM
    assert view.waiting == "waiting for a worker of backend 'sim'"


def test_a_run_that_is_not_stored_cannot_be_driven():
    bench = Bench()
    with pytest.raises(StateCorrupt, match="'nobody' is not stored"):
        bench.drive("nobody")


def test_a_run_whose_plan_has_expired_says_so():
    bench = Bench()
    run = bench.submit().run
    bench.clock.now += TIMING.blob_ttl_s + 1
    with pytest.raises(StateCorrupt, match="the plan of run"):
        bench.drive(run)


def test_a_stopped_driver_leaves_the_run_open():
    bench = Bench()
    bench.fleet.mishap = Trouble("lost", 99)
    bench.doorbell.idle = bench.stop.set
    run = bench.submit().run
    bench.drive(run)
    assert bench.state.runs.open_runs() == [run]


# --- budgets ------------------------------------------------------------------------------------


def test_a_used_up_budget_pauses_and_a_larger_one_finishes():
    bench = Bench()
    small = make_plan(budget=Budget(max_calls=20))
    state = bench.run(small)
    assert state.paused and state.paused.why == "budget"
    assert "budget.max_calls; raise it" in state.paused.detail
    spend = bench.state.budgets.spend(small.run_id)
    assert sum(spend.calls.values()) == 20
    assert bench.run(small).paused, "the same budget does not help"
    assert sum(bench.state.budgets.spend(small.run_id).calls.values()) == 20
    large = make_plan(budget=Budget(max_calls=500))
    assert large.run_id == small.run_id
    assert bench.submit(large).what == "resumed"
    bench.drive(large.run_id)
    assert bench.known(large).finished
    assert decisions(bench.events(large.run_id)) == undisturbed()


def test_a_call_that_the_budget_refuses_again_and_again_is_not_given_up():
    bench = Bench()
    for _ in range(2 * TIMING.max_infra_rounds):
        assert bench.run(make_plan(budget=Budget(max_calls=5))).paused
    plan = make_plan()
    assert bench.run(plan).finished
    assert not [e for e in bench.events(plan.run_id) if isinstance(e, GaveUp)]


def test_minutes_are_a_budget_too():
    bench = Bench()
    small = make_plan(budget=Budget(max_minutes=1e-9))
    state = bench.run(small)
    assert state.paused and state.paused.why == "budget"
    assert "raise budget.max_minutes" in state.paused.detail
    large = make_plan(budget=Budget(max_minutes=600))
    assert bench.run(large).finished
    assert decisions(bench.events(large.run_id)) == undisturbed()


# --- sharing ------------------------------------------------------------------------------------


def test_a_second_run_of_the_same_jobs_executes_nothing_and_counts_its_hits():
    bench = Bench()
    first, second = make_plan(), make_plan(replica=1)
    bench.run(first)
    done = len(bench.fleet.executed)
    assert bench.cache_hits(first.run_id) == 0
    assert bench.run(second).finished
    assert len(bench.fleet.executed) == done
    assert bench.state.budgets.spend(second.run_id).executions == 0
    spend = bench.state.budgets.spend(first.run_id)
    assert bench.cache_hits(second.run_id) == sum(spend.calls.values()) > 0
    assert decisions(bench.events(second.run_id)) == undisturbed()


def test_two_runs_that_want_the_same_jobs_at_once_share_each():
    bench = Bench()
    plans = [make_plan(), make_plan(replica=1)]
    runs = [bench.submit(plan).run for plan in plans]
    bench.fleet.mishap = Trouble("lost", 1)
    bench.doorbell.idle = bench.stop.set
    bench.drive(runs[0], "c1")
    in_flight = {job for job, _ in bench.fleet.messages}
    bench.stop.clear()
    bench.drive(runs[1], "c2")
    assert {job for job, _ in bench.fleet.messages} == in_flight, "one message serves both"
    bench.stop.clear()
    bench.fleet.mishap, bench.doorbell.idle = Trouble("", 0), lambda: None
    for run in runs:
        bench.drive(run, f"c-{run}")
        assert decisions(bench.events(run)) == undisturbed()
    assert len(bench.fleet.executed) == len(set(bench.fleet.executed))


# --- the window ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capacities", "expected"), [((), MIN_ROOM), ((1,), MIN_ROOM), ((2, 1), 6)]
)
def test_no_more_messages_are_under_way_than_the_window_allows(capacities, expected):
    bench = Bench()
    for number, capacity in enumerate(capacities):
        bench.state.fleet.announce(
            WorkerInfo(worker=f"w{number}", backend="sim", fingerprint="f1", capacity=capacity)
        )
    bench.fleet.mishap = Trouble("lost", 99)
    bench.doorbell.idle = bench.stop.set
    bench.drive(bench.submit().run)
    assert len(bench.fleet.messages) == expected


def test_workers_of_other_backends_do_not_widen_the_window():
    bench = Bench()
    bench.state.fleet.announce(
        WorkerInfo(worker="w", backend="other", fingerprint="f1", capacity=100)
    )
    bench.fleet.mishap = Trouble("lost", 99)
    bench.doorbell.idle = bench.stop.set
    bench.drive(bench.submit().run)
    assert len(bench.fleet.messages) == MIN_ROOM


def test_what_a_decision_waits_for_is_sent_before_the_background():
    bench = Bench()
    plan = make_plan()
    bench.run(plan)
    labels = [bench.fleet.labels[job].split(" / ")[0] for job, _ in bench.fleet.messages]
    assert labels[:4] == ["baseline"] * 4


def test_the_first_events_of_a_run_are_its_baseline_and_first_step():
    bench = Bench()
    plan = make_plan()
    bench.run(plan)
    assert [type(event) for event in bench.events(plan.run_id)[:3]] == [
        RunCreated,
        Measured,
        StepStarted,
    ]
