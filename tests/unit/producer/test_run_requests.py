"""What a second process asks of a run is done once, by whoever leads it."""

from __future__ import annotations

import pytest
from fleet_double import Bench, decisions, undisturbed
from scripted_run import make_plan

from producer.requests import LeaveOut, TryAgain, ask, decode_request
from skillopt.domain.events import Finished
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Budget
from skillopt.domain.steering_events import GaveUp, LeftOut, Paused, Resumed
from skillopt.errors import StateCorrupt
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import Lane

LEAVE_OUT = LeaveOut(items={"val-beta": "no tool"})


def broken(job: WantedJob, lane: Lane) -> str | None:
    return "bad_request: no" if "/ val-beta /" in job.label else None


def paused(bench: Bench) -> str:
    """Have a run pause because one val task never gets a result."""
    bench.fleet.mishap = broken
    run = bench.submit().run
    bench.drive(run)
    assert isinstance(bench.events(run)[-1], Paused)
    return run


def test_a_paused_run_is_changed_by_the_process_that_asks():
    bench, plan = Bench(), make_plan()
    run = paused(bench)
    assert ask(bench.state, run, plan, LEAVE_OUT, wait=bench._wait) == "here"
    assert [type(event) for event in bench.events(run)[-2:]] == [LeftOut, Resumed]
    assert bench.state.runs.open_runs() == [run]
    assert bench.state.requests.pending(run) == []
    bench.drive(run)
    assert isinstance(bench.known(plan).finished, Finished)


def test_trying_again_wants_the_jobs_anew_once_the_cause_is_gone():
    bench, plan = Bench(), make_plan()
    run = paused(bench)
    bench.fleet.mishap = lambda job, lane: None
    bench.state.dead.revive(list(bench.known(plan).given_up))
    assert ask(bench.state, run, plan, TryAgain(), wait=bench._wait) == "here"
    bench.drive(run)
    assert bench.known(plan).finished
    assert decisions(bench.events(run)) == undisturbed()


def test_a_running_run_is_changed_by_its_coordinator_in_mid_stage():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    lead = bench.state.runs.lead(run, "somebody")
    assert lead is not None

    def never_mind(seconds: float) -> None:
        bench.state.runs.resign(lead)
        bench.drive(run)

    assert ask(bench.state, run, plan, LEAVE_OUT, wait=never_mind) == "coordinator"
    state = bench.known(plan)
    assert state.left_out == LEAVE_OUT.items
    assert state.finished
    assert not any("val-beta" in label for label in bench.fleet.labels.values())
    assert [type(e) for e in bench.events(run)].count(LeftOut) == 1


def going_on_without_a_task(bench: Bench) -> RunPlan:
    bench.fleet.mishap = broken
    return make_plan(settings={"evaluation": {"min_coverage": 0.5}})


def test_a_run_that_goes_on_without_a_job_wants_it_again_when_asked():
    bench = Bench()
    plan = going_on_without_a_task(bench)
    run = bench.submit(plan).run

    def mended_in_step_one(job: WantedJob, lane: Lane) -> str | None:
        if job.label.startswith("step 1 / rollout") and bench.known(plan).given_up:
            bench.state.dead.revive(list(bench.known(plan).given_up))
            bench.state.requests.post(run, TryAgain().model_dump_json())
            bench.fleet.mishap = lambda job, lane: None
        return broken(job, lane)

    bench.fleet.mishap = mended_in_step_one
    bench.drive(run)
    state = bench.known(plan)
    assert state.finished
    assert [type(e) for e in bench.events(run)].count(GaveUp) == 1
    assert [type(e) for e in bench.events(run)].count(Resumed) == 1
    assert state.given_up == {}
    assert state.gates[-1].measurement.items["val-beta"].status == "scored"


def test_a_finished_run_is_not_changed_any_more():
    bench = Bench()
    plan = going_on_without_a_task(bench)
    run = bench.submit(plan).run
    bench.drive(run)
    assert bench.known(plan).finished
    before = bench.events(run)
    assert ask(bench.state, run, plan, TryAgain(), wait=bench._wait) == "finished"
    assert bench.events(run) == before
    assert bench.state.requests.pending(run) == []


def test_what_a_coordinator_does_not_understand_is_dropped_and_harms_nothing():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    bench.state.requests.post(run, "this is no request")
    bench.drive(run)
    assert decisions(bench.events(run)) == undisturbed()
    assert bench.state.requests.pending(run) == []


def test_asking_again_for_what_is_so_writes_nothing():
    bench, plan = Bench(), make_plan()
    run = paused(bench)
    ask(bench.state, run, plan, LEAVE_OUT, wait=bench._wait)
    before = bench.events(run)
    ask(bench.state, run, plan, LEAVE_OUT, wait=bench._wait)
    ask(bench.state, run, plan, TryAgain(), wait=bench._wait)
    assert bench.events(run) == before


def test_a_run_paused_by_its_budget_stays_paused():
    bench = Bench()
    plan = make_plan(budget=Budget(max_calls=3))
    run = bench.submit(plan).run
    bench.drive(run)
    assert bench.known(plan).paused
    assert ask(bench.state, run, plan, LEAVE_OUT, wait=bench._wait) == "here"
    assert isinstance(bench.events(run)[-1], LeftOut)
    assert bench.known(plan).status == "paused"
    assert bench.state.runs.open_runs() == []


def test_a_request_that_nobody_takes_up_stays_with_the_run():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    assert bench.state.runs.lead(run, "asleep")
    waited: list[float] = []
    outcome = ask(bench.state, run, plan, LEAVE_OUT, wait=waited.append, patience=3)
    assert (outcome, len(waited)) == ("waiting", 3)
    bench.clock.now += 60
    bench.drive(run)
    assert bench.known(plan).left_out == LEAVE_OUT.items


@pytest.mark.parametrize("text", ["", "{}", '{"type":"finish"}', '{"type":"leave_out"}', "[1]"])
def test_what_is_no_request_is_a_typed_error(text: str):
    with pytest.raises(StateCorrupt, match="not understood"):
        decode_request(text)
