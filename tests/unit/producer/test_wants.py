"""A coordinator stops waiting for what a decision needs no longer."""

from __future__ import annotations

from typing import Any

from fleet_double import Bench
from scripted_run import item, make_plan

from producer.facts import LedgerFacts
from producer.wants import left_open
from skillopt.domain.item import Splits
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.loop.jobs import JobFactory
from skillopt.state.ports import ClaimStatus


def early_plan(**evaluation: Any) -> RunPlan:
    """One val task could still improve, and no candidate manages it: a look at it decides."""
    return make_plan(
        settings={"evaluation": {"early_decision": True, **evaluation}},
        skill="# Greeter\n\nAlways say alpha.\n",
        splits=Splits(
            train=tuple(item(f"train-{i}", word) for i, word in enumerate(("beta", "gamma") * 4)),
            val=(*(item(f"val-{i}", "alpha") for i in range(3)), item("val-hard", "never")),
            test=(item("test-1", "alpha"),),
        ),
    )


def lose_easy_gate_messages(bench: Bench) -> None:
    """Only the task that decides is worked on; messages for the others lie in the queue."""
    bench.fleet.mishap = lambda job, lane: (
        "lost" if "/ gate /" in job.label and "hard" not in job.label else None
    )


def still_waited_for(
    bench: Bench, plan: RunPlan, state: RunState, by: str | None = None
) -> list[str]:
    facts = LedgerFacts(
        plan.run_id,
        bench.state.runs.ledger(plan.run_id),
        bench.state.results,
        bench.state.blobs,
    )
    open_jobs = left_open(state, facts, JobFactory(plan, plan.run_id))
    assert open_jobs, "the last gate left something open"
    claims = {
        job: bench.state.claims.claim(job, run=by or plan.run_id, owner="w", lane="normal")
        for job in open_jobs
    }
    return [job for job, claim in claims.items() if claim.status is not ClaimStatus.UNWANTED]


def test_the_rest_of_a_gate_that_is_decided_is_given_up():
    """A worker that gets to such a message finds that nobody waits, and makes no call."""
    bench, plan = Bench(), early_plan()
    lose_easy_gate_messages(bench)
    state = bench.run(plan)
    assert state.finished
    assert all(gated.early and gated.verdict == "reject" for gated in state.gates)
    assert still_waited_for(bench, plan, state) == []


def test_a_run_that_ends_with_such_a_gate_waits_for_nothing():
    bench, plan = Bench(), early_plan(eval_test=False)
    lose_easy_gate_messages(bench)
    state = bench.run(plan)
    assert state.finished
    assert still_waited_for(bench, plan, state) == []


def test_what_another_run_waits_for_stays_wanted():
    bench, plan = Bench(), early_plan()
    lose_easy_gate_messages(bench)
    other = plan.model_copy(update={"name": "other"})
    bench.submit(other)
    bench.doorbell.idle = bench.stop.set
    unwant = bench.state.board.unwant
    bench.state.board.unwant = lambda lead, jobs, **_: None  # type: ignore[method-assign]
    bench.drive(other.run_id)  # goes as far as it can and never lets go
    bench.state.board.unwant = unwant  # type: ignore[method-assign]
    bench.stop.clear()
    state = bench.run(plan)
    assert still_waited_for(bench, plan, state) == []
    assert still_waited_for(bench, plan, state, by=other.run_id)


def test_a_coordinator_that_takes_over_lets_go_of_what_its_predecessor_left():
    bench, plan = Bench(), early_plan(eval_test=False)
    lose_easy_gate_messages(bench)
    run = bench.submit(plan).run
    unwant, dropped = bench.state.board.unwant, []

    def killed_before_letting_go(lead: Any, jobs: list[str], **_: Any) -> None:
        bench.stop.set()

    bench.state.board.unwant = killed_before_letting_go  # type: ignore[method-assign]
    bench.drive(run)
    assert bench.known(plan).gates[-1].early
    bench.state.board.unwant = lambda lead, jobs, **_: (dropped.extend(jobs), unwant(lead, jobs))  # type: ignore[method-assign,func-returns-value]
    bench.stop.clear()
    bench.drive(run, owner="c2")
    assert dropped
