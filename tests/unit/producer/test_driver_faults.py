from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fleet_double import TIMING, Bench, Trouble, decisions, undisturbed
from scripted_run import make_plan

from skillopt.domain.events import Gated
from skillopt.domain.steering_events import GaveUp, Paused
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import Lane, Lead, Results, StoredResult

# --- the queue loses and repeats ----------------------------------------------------------------


def test_a_lost_message_is_sent_again_and_changes_nothing():
    bench = Bench()
    bench.fleet.mishap = Trouble("lost", 1)
    plan = make_plan()
    began = bench.clock.now
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed()
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


def test_a_worker_that_dies_gives_its_job_back_when_its_lease_ends():
    bench = Bench()
    bench.fleet.mishap = Trouble("killed", 1)
    plan = make_plan()
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed()
    assert {lane for _, lane in bench.fleet.messages} == {"normal"}


def test_a_job_that_kills_its_workers_goes_to_quarantine():
    bench = Bench()
    bench.fleet.mishap = Trouble("killed", TIMING.max_lost_claims, label="baseline / val-beta")
    assert bench.run().finished
    beta = [job for job, label in bench.fleet.labels.items() if label == "baseline / val-beta / 0"]
    lanes = [lane for job, lane in bench.fleet.messages if job in beta]
    assert lanes == ["normal"] * TIMING.max_lost_claims + ["quarantine"]


def test_a_dead_job_is_given_up_then_the_run_pauses_and_submit_tries_again():
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
    assert decisions(bench.events(plan.run_id)) == undisturbed()


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
def test_a_result_whose_body_vanished_is_run_again(judges_here):
    bench = Bench()
    results = Vanishing(bench.state.results, doomed=3)
    bench.state = replace(bench.state, results=results)
    bench.fleet.state, bench.fleet.judges_here = bench.state, judges_here
    plan = make_plan()
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed()
    assert len(results.gone) == 3
    done = Counter(bench.fleet.executed)
    assert sorted(done.values(), reverse=True)[:4] == [2, 2, 2, 1] or judges_here
    assert all(done[job] <= 2 for job in done)


# --- outages ------------------------------------------------------------------------------------


def test_a_job_given_back_rests_and_is_tried_again():
    bench = Bench()
    bench.fleet.mishap = Trouble("rate_limited: slow down", TIMING.max_infra_rounds - 1)
    plan = make_plan()
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed()
    assert not [e for e in bench.events(plan.run_id) if isinstance(e, GaveUp | Paused)]


def test_an_outage_that_lasts_is_given_up_pauses_naming_tasks_and_resumes():
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
    assert decisions(bench.events(plan.run_id)) == undisturbed()


def test_each_job_gets_its_rounds_anew_after_a_resumption():
    bench = Bench()
    bench.fleet.mishap = Trouble("server_error: 503", 99, label="baseline")
    plan = make_plan()
    assert bench.run(plan).paused
    bench.fleet.mishap = Trouble("server_error: 503", TIMING.max_infra_rounds - 1)
    assert bench.run(plan).finished


def test_a_refused_credential_pauses_at_once_and_names_the_backend():
    bench = Bench()
    bench.fleet.mishap = Trouble("auth: the key was refused", 99)
    plan = make_plan()
    state = bench.run(plan)
    assert state.paused and state.paused.why == "infrastructure"
    assert state.paused.detail == "backend 'sim': auth: the key was refused"
    assert max(Counter(job for job, _ in bench.fleet.messages).values()) == 1
    bench.fleet.mishap = Trouble("", 0)
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed()


def test_a_prompt_that_is_refused_costs_one_try_and_only_its_own_task():
    bench = Bench()
    bench.fleet.mishap = Trouble("bad_request: too long", 99, label="baseline / val-alpha / 0")
    state = bench.run(make_plan())
    assert state.paused and state.paused.why == "coverage"
    assert "val-alpha" in state.paused.detail
    assert "too long" in state.paused.detail
    assert max(Counter(job for job, _ in bench.fleet.messages).values()) == 1


def test_a_run_may_go_on_without_a_prompt_that_is_refused():
    bench = Bench()
    bench.fleet.mishap = Trouble("bad_request: too long", 99, label="baseline / val-alpha")
    state = bench.run(make_plan(settings={"evaluation": {"min_coverage": 0.7}}))
    assert state.finished
    assert state.measured[(state.plan.initial_key, "val")].coverage == 0.75


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


def test_an_optimizer_outage_pauses_instead_of_dropping_the_analyst():
    bench = Bench()
    bench.fleet.mishap = Trouble("timeout: 120 s", 99, label="step 1 / reflect failure 0")
    plan = make_plan()
    state = bench.run(plan)
    assert state.paused and state.paused.why == "infrastructure"
    assert "step 1 / reflect failure 0: timeout: 120 s" in state.paused.detail
    bench.fleet.mishap = Trouble("", 0)
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed()


def test_a_judge_that_raises_is_not_asked_again_and_again():
    bench, plan = Bench(), make_plan()
    bench.fleet.judges_here = False
    bench.fleet.mishap = lambda job, lane: (
        "judge_failed: it raised" if job.label.endswith("judge") else None
    )
    state = bench.run(plan)
    assert state.paused is not None
    assert "it raised" in state.paused.detail
    judged = [job for job, _ in bench.fleet.messages if bench.fleet.labels[job].endswith("judge")]
    assert len(judged) == len(set(judged)), "one try each"
