from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest
from fleet_double import TIMING, Bench, Mirror
from scripted_run import ScriptedRun, make_plan

from producer.driver import MIN_WINDOW, Driver
from skillopt.domain.events import (
    Event,
    Finished,
    Gated,
    GaveUp,
    Measured,
    Paused,
    Resumed,
    RunCreated,
    StepStarted,
)
from skillopt.domain.spec import Budget
from skillopt.domain.view import RunView
from skillopt.errors import Fenced, StateCorrupt
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import Lane, Lead, Results, StoredResult, WorkerInfo


def decisions(events: Sequence[Event]) -> list[Event]:
    """Leave out what tells of disturbances, and where the plan is stored."""
    return [
        event
        for event in events
        if not isinstance(event, RunCreated | GaveUp | Paused | Resumed)
        and not (isinstance(event, Gated) and event.verdict == "indecisive")
    ]


@pytest.fixture(scope="module")
def undisturbed() -> list[Event]:
    return decisions(ScriptedRun().finish().events)


@dataclass
class Trouble:
    """The same mishap for each message that it is meant for, so many times a job."""

    what: str
    times: int
    label: str = ""
    seen: Counter[str] = field(default_factory=Counter)

    def __call__(self, job: WantedJob, lane: Lane) -> str | None:
        if not job.label.startswith(self.label) or self.seen[job.id] >= self.times:
            return None
        self.seen[job.id] += 1
        return self.what


# --- the plain course ---------------------------------------------------------------------------


@pytest.mark.parametrize("judges_here", [True, False])
def test_a_run_goes_to_its_end_and_decides_as_the_loop_alone_does(undisturbed, judges_here):
    bench = Bench()
    bench.fleet.judges_here = judges_here
    plan = make_plan()
    state = bench.run(plan)
    assert isinstance(state.finished, Finished)
    assert decisions(bench.events(plan.run_id)) == undisturbed
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
    assert view.in_flight == MIN_WINDOW
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


# --- the queue loses and repeats ----------------------------------------------------------------


def test_a_lost_message_is_sent_again_and_changes_nothing(undisturbed):
    bench = Bench()
    bench.fleet.mishap = Trouble("lost", 1)
    plan = make_plan()
    began = bench.clock.now
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed
    sent = Counter(job for job, _ in bench.fleet.messages)
    assert set(sent.values()) == {2}
    assert bench.clock.now - began >= TIMING.resend_s


def test_a_message_under_way_is_not_sent_again_before_its_time():
    bench = Bench()
    bench.fleet.mishap = Trouble("lost", 99)
    run = bench.submit().run
    end = bench.clock.now + TIMING.resend_s - 1

    def stop_before_the_resend() -> None:
        if bench.clock.now + TIMING.tick_s > end:
            bench.stop.set()

    bench.doorbell.idle = stop_before_the_resend
    bench.drive(run)
    assert bench.doorbell.waits > 5
    assert max(Counter(bench.fleet.messages).values()) == 1


def test_a_worker_that_dies_gives_its_job_back_when_its_lease_ends(undisturbed):
    bench = Bench()
    bench.fleet.mishap = Trouble("killed", 1)
    plan = make_plan()
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed
    assert {lane for _, lane in bench.fleet.messages} == {"normal"}


def test_a_job_that_kills_its_workers_goes_to_quarantine():
    bench = Bench()
    bench.fleet.mishap = Trouble("killed", TIMING.max_lost_claims, label="baseline / val-beta")
    assert bench.run().finished
    beta = [job for job, label in bench.fleet.labels.items() if label == "baseline / val-beta / 0"]
    lanes = [lane for job, lane in bench.fleet.messages if job in beta]
    assert lanes == ["normal"] * TIMING.max_lost_claims + ["quarantine"]


def test_a_dead_job_is_given_up_then_the_run_pauses_and_submit_tries_again(undisturbed):
    bench = Bench()
    bench.fleet.mishap = Trouble("killed", 99, label="step 1 / gate / val-beta")
    plan = make_plan()
    state = bench.run(plan)
    assert state.paused and state.paused.why == "coverage"
    assert "val-beta" in state.paused.detail
    assert "lost: 2 claims were lost, then 2 more in quarantine" in state.paused.detail
    [gave_up] = [e for e in bench.events(plan.run_id) if isinstance(e, GaveUp)]
    assert len(gave_up.jobs) == 1
    bench.fleet.mishap = Trouble("", 0)
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed


class Vanishing:
    """Results of which some are gone the first time somebody looks for them."""

    def __init__(self, inner: Results, doomed: int) -> None:
        self._inner = inner
        self.left = doomed
        self.gone: list[str] = []

    def get(self, jobs: Sequence[str]) -> dict[str, StoredResult]:
        found = self._inner.get(jobs)
        for job in jobs:
            if self.left and job in found and job not in self.gone:
                self.left -= 1
                self.gone.append(job)
                del found[job]
        return found

    def forget(self, lead: Lead, jobs: Sequence[str]) -> None:
        self._inner.forget(lead, jobs)

    def of_skill(self, skill: str) -> list[str]:
        return self._inner.of_skill(skill)


@pytest.mark.parametrize("judges_here", [True, False])
def test_a_result_whose_body_vanished_is_run_again(undisturbed, judges_here):
    bench = Bench()
    results = Vanishing(bench.state.results, doomed=3)
    bench.state = replace(bench.state, results=results)
    bench.fleet.state, bench.fleet.judges_here = bench.state, judges_here
    plan = make_plan()
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed
    assert len(results.gone) == 3
    done = Counter(bench.fleet.executed)
    assert sorted(done.values(), reverse=True)[:4] == [2, 2, 2, 1] or judges_here
    assert all(done[job] <= 2 for job in done)


# --- outages ------------------------------------------------------------------------------------


def test_a_job_given_back_rests_and_is_tried_again(undisturbed):
    bench = Bench()
    bench.fleet.mishap = Trouble("rate_limited: slow down", TIMING.max_infra_rounds - 1)
    plan = make_plan()
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed
    assert not [e for e in bench.events(plan.run_id) if isinstance(e, GaveUp | Paused)]


def test_an_outage_that_lasts_is_given_up_pauses_naming_tasks_and_resumes(undisturbed):
    bench = Bench()
    bench.fleet.mishap = Trouble("server_error: 503", 99, label="step 1 / gate")
    plan = make_plan()
    state = bench.run(plan)
    assert state.paused and state.paused.why == "coverage"
    assert "4 of 4 items have no score (val-alpha, val-beta" in state.paused.detail
    assert "server_error: 503" in state.paused.detail
    assert [e.verdict for e in bench.events(plan.run_id) if isinstance(e, Gated)] == ["indecisive"]
    assert bench.state.runs.open_runs() == []
    bench.fleet.mishap = Trouble("", 0)
    assert bench.submit(plan).what == "resumed"
    bench.drive(plan.run_id)
    assert bench.known(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed


def test_each_job_gets_its_rounds_anew_after_a_resumption():
    bench = Bench()
    bench.fleet.mishap = Trouble("server_error: 503", 99, label="baseline")
    plan = make_plan()
    assert bench.run(plan).paused
    bench.fleet.mishap = Trouble("server_error: 503", TIMING.max_infra_rounds - 1)
    assert bench.run(plan).finished


def test_a_refused_credential_pauses_at_once_and_names_the_backend(undisturbed):
    bench = Bench()
    bench.fleet.mishap = Trouble("auth: the key was refused", 99)
    plan = make_plan()
    state = bench.run(plan)
    assert state.paused and state.paused.why == "infrastructure"
    assert state.paused.detail == "backend 'sim': auth: the key was refused"
    assert max(Counter(job for job, _ in bench.fleet.messages).values()) == 1
    bench.fleet.mishap = Trouble("", 0)
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed


def test_a_job_refused_after_the_pause_does_not_pause_the_resumed_run():
    """A call in flight while the run paused fails late; meanwhile the key may be a new one."""
    bench = Bench()
    late: list[tuple[str, str]] = []

    def first_fails_others_linger(job: WantedJob, lane: Lane) -> str | None:
        if not late:
            late.append((job.id, ""))
            return "auth: the key was refused"
        late.append((job.id, f"w{len(bench.fleet.messages)}"))
        return "killed"

    bench.fleet.mishap = first_fails_others_linger
    plan = make_plan()
    assert bench.run(plan).paused
    assert len(late) > 1
    for job, owner in late[1:]:
        reason = "auth: the key was refused"
        assert bench.state.claims.release(job, owner=owner, delay_s=60.0, reason=reason)
    bench.fleet.mishap = Trouble("", 0)
    assert bench.run(plan).finished
    pauses = [e for e in bench.events(plan.run_id) if isinstance(e, Paused)]
    assert len(pauses) == 1


def test_a_credential_that_is_still_refused_pauses_the_resumed_run_again():
    bench = Bench()
    bench.fleet.mishap = Trouble("auth: the key was refused", 99)
    plan = make_plan()
    assert bench.run(plan).paused
    assert bench.run(plan).paused
    assert max(Counter(job for job, _ in bench.fleet.messages).values()) == 2


def test_an_optimizer_outage_pauses_instead_of_dropping_the_analyst(undisturbed):
    bench = Bench()
    bench.fleet.mishap = Trouble("timeout: 120 s", 99, label="step 1 / reflect failure 0")
    plan = make_plan()
    state = bench.run(plan)
    assert state.paused and state.paused.why == "infrastructure"
    assert "step 1 / reflect failure 0: timeout: 120 s" in state.paused.detail
    bench.fleet.mishap = Trouble("", 0)
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed


# --- budgets ------------------------------------------------------------------------------------


def test_a_used_up_budget_pauses_and_a_larger_one_finishes(undisturbed):
    bench = Bench()
    small = make_plan(budget=Budget(max_calls=20))
    state = bench.run(small)
    assert state.paused and state.paused.why == "budget"
    assert "raise budget.max_calls" in state.paused.detail
    spend = bench.state.budgets.spend(small.run_id)
    assert sum(spend.calls.values()) == 20
    assert bench.run(small).paused, "the same budget does not help"
    assert sum(bench.state.budgets.spend(small.run_id).calls.values()) == 20
    large = make_plan(budget=Budget(max_calls=500))
    assert large.run_id == small.run_id
    assert bench.submit(large).what == "resumed"
    bench.drive(large.run_id)
    assert bench.known(large).finished
    assert decisions(bench.events(large.run_id)) == undisturbed


def test_a_call_that_the_budget_refuses_again_and_again_is_not_given_up():
    bench = Bench()
    for _ in range(2 * TIMING.max_infra_rounds):
        assert bench.run(make_plan(budget=Budget(max_calls=5))).paused
    plan = make_plan()
    assert bench.run(plan).finished
    assert not [e for e in bench.events(plan.run_id) if isinstance(e, GaveUp)]


def test_minutes_are_a_budget_too(undisturbed):
    bench = Bench()
    small = make_plan(budget=Budget(max_minutes=1e-9))
    state = bench.run(small)
    assert state.paused and state.paused.why == "budget"
    assert "raise budget.max_minutes" in state.paused.detail
    large = make_plan(budget=Budget(max_minutes=600))
    assert bench.run(large).finished
    assert decisions(bench.events(large.run_id)) == undisturbed


# --- several coordinators -----------------------------------------------------------------------


def test_a_second_driver_takes_over_and_the_first_is_fenced(undisturbed):
    bench = Bench()
    plan = make_plan()
    run = bench.submit(plan).run
    bench.fleet.mishap = Trouble("lost", 99, label="step 2 / rollout")
    first = bench.driver(run, "c1")

    def take_over() -> None:
        bench.doorbell.idle = lambda: None
        bench.clock.now += TIMING.lead_s
        bench.fleet.mishap = Trouble("", 0)
        bench.drive(run, "c2")

    bench.doorbell.idle = take_over
    with pytest.raises(Fenced):
        first.drive(bench.stop)
    assert bench.known(plan).finished
    assert decisions(bench.events(run)) == undisturbed


def test_a_driver_with_an_old_lead_writes_nothing_even_with_every_result_at_hand():
    bench = Bench()
    plan = make_plan()
    bench.run(plan)
    again = make_plan(replica=1)
    run = bench.submit(again).run
    old = bench.driver(run, "c1")
    bench.clock.now += TIMING.lead_s
    assert bench.state.runs.lead(run, "c2") is not None
    before = bench.state.runs.log(run)
    with pytest.raises(Fenced):
        old.drive(bench.stop)
    assert bench.state.runs.log(run) == before
    assert bench.state.runs.ledger(run) == {}


def test_a_driver_stopped_at_any_event_is_continued_by_another(undisturbed):
    plan = make_plan()
    total = len(undisturbed) + 1
    for stop_after in range(1, total, 3):
        bench = Bench()
        run = bench.submit(plan).run

        class StoppingMirror:
            def follow(self, entries, state, facts, bench=bench, limit=stop_after):
                if len(bench.state.runs.log(plan.run_id)) == limit:
                    bench.stop.set()

        bench.mirror = StoppingMirror()
        bench.drive(run, "c1")
        bench.stop.clear()
        bench.mirror = Mirror()
        bench.drive(run, "c2")
        assert [entry.seq for entry in bench.mirror.entries] == list(range(1, total + 1))
        assert decisions(bench.events(run)) == undisturbed, f"stopped after {stop_after} events"


def await_true(condition, what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)


@contextmanager
def lingering(bench: Bench, run: str) -> Iterator[Driver]:
    """Have a driver wait for results in a thread of its own, while its lead is renewed."""
    bench.fleet.mishap = Trouble("lost", 10**6)
    driver = bench.driver(run, "c1")
    idle, gate = threading.Event(), threading.Event()

    def linger() -> None:
        idle.set()
        gate.wait(20)

    bench.doorbell.idle = linger
    thread = threading.Thread(target=driver.drive, args=[bench.stop])
    thread.start()
    try:
        await_true(idle.is_set, "the driver to wait")
        yield driver
    finally:
        gate.set()
        thread.join(timeout=20)
    assert not thread.is_alive()


def taken_by(bench: Bench, run: str, owner: str) -> Lead:
    """Let the lead lapse between two renewals and take it."""
    found: list[Lead] = []

    def taken() -> bool:
        bench.clock.now += TIMING.lead_s + 1
        lead = bench.state.runs.lead(run, owner)
        found.extend([lead] if lead else [])
        return bool(found)

    await_true(taken, "the lead")
    return found[0]


def test_a_driver_whose_lease_was_taken_notices_by_itself_and_leaves_it_alone():
    bench = Bench(replace(TIMING, lead_renew_s=0.01))
    run = bench.submit().run
    with lingering(bench, run) as driver:
        lead = taken_by(bench, run, "c2")
        await_true(driver._lost.is_set, "the first driver to notice")
    assert bench.state.runs.lead(run, "c2") == lead


def test_a_driver_that_gets_its_lease_back_after_another_had_it_gives_it_up():
    """Its state is old: the one that led in between may have written events."""
    bench = Bench(replace(TIMING, lead_renew_s=0.01))
    run = bench.submit().run
    with lingering(bench, run) as driver:
        bench.state.runs.resign(taken_by(bench, run, "c2"))
        await_true(driver._lost.is_set, "the first driver to notice")
    assert bench.state.runs.lead(run, "c3") is not None, "nobody holds it any more"


# --- sharing ------------------------------------------------------------------------------------


def test_a_second_run_of_the_same_jobs_executes_nothing_and_counts_its_hits(undisturbed):
    bench = Bench()
    first, second = make_plan(), make_plan(replica=1)
    bench.run(first)
    done = len(bench.fleet.executed)
    assert bench.cache_hits(first.run_id) == 0
    assert bench.run(second).finished
    assert len(bench.fleet.executed) == done
    assert bench.state.budgets.spend(second.run_id).executions == 0
    assert bench.cache_hits(second.run_id) == len(bench.state.runs.ledger(second.run_id)) > 0
    assert decisions(bench.events(second.run_id)) == undisturbed


def test_two_runs_that_want_the_same_jobs_at_once_share_each(undisturbed):
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
        assert decisions(bench.events(run)) == undisturbed
    assert len(bench.fleet.executed) == len(set(bench.fleet.executed))


# --- the window ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capacities", "expected"), [((), MIN_WINDOW), ((1,), MIN_WINDOW), ((2, 1), 6)]
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
    assert len(bench.fleet.messages) == MIN_WINDOW


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
