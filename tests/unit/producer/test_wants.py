"""A coordinator stops waiting for what a decision needs no longer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fleet_double import Bench
from scripted_run import item, make_plan

from producer.facts import LedgerFacts
from producer.wants import left_open
from skillopt.domain.events import Gated
from skillopt.domain.item import Splits
from skillopt.domain.plan import RunPlan
from skillopt.loop.jobs import JobFactory
from skillopt.state.ports import ClaimStatus

WORDS = ("alpha", "beta", "gamma", "unknown")


def early_plan() -> RunPlan:
    """A run whose later candidates bring nothing: val holds only words that no task teaches."""
    return make_plan(
        settings={"evaluation": {"early_decision": True}, "gradient": {"minibatch_size": 8}},
        splits=Splits(
            train=tuple(item(f"train-{i}", word) for i, word in enumerate(("alpha", "beta") * 4)),
            val=tuple(item(f"val-{i}", f"never{i}") for i in range(12)),
            test=(item("test-1", "alpha"),),
        ),
    )


class Counted:
    """A bench that remembers which jobs were given up, and when."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.dropped: list[str] = []
        board, dropped = self.bench.state.board, self.dropped
        unwant = board.unwant

        def noted(lead: object, jobs: list[str]) -> None:
            dropped.extend(jobs)
            unwant(lead, jobs)

        board.unwant = noted


@pytest.fixture
def counted() -> Iterator[Counted]:
    return Counted()


def test_jobs_of_a_gate_that_is_decided_are_given_up(counted):
    """Their messages are under way; a worker that gets to them finds that nobody waits."""
    bench, plan = counted.bench, early_plan()
    lost = [item.id for item in plan.splits.val[8:]]
    bench.fleet.mishap = (
        lambda job, lane: "lost" if "/ gate /" in job.label and _named(job, lost) else None
    )
    state = bench.run(plan)
    early = [gated for gated in state.gates if gated.early]
    assert early, "a candidate that gains nothing is rejected before its last task"
    for gated in early:
        assert gated.verdict == "reject"
    assert counted.dropped
    job = counted.dropped[0]
    claim = bench.state.claims.claim(job, run=plan.run_id, owner="w", lane="normal")
    assert claim.status is ClaimStatus.UNWANTED
    assert not set(counted.dropped) & set(bench.fleet.executed)


def _named(job: object, tasks: list[str]) -> bool:
    return any(f"/ {task} /" in job.label for task in tasks)


def test_what_another_run_waits_for_is_still_done(counted):
    bench, plan = counted.bench, early_plan()
    bench.fleet.mishap = lambda job, lane: "lost" if "/ val-11 /" in job.label else None
    other = plan.model_copy(update={"name": "other"})
    bench.submit(other)
    bench.stop.set()
    first = bench.driver(other.run_id)
    del first
    bench.stop.clear()
    bench.run(plan)
    for job in counted.dropped:
        assert bench.state.claims.claim(
            job, run=plan.run_id, owner="w", lane="normal"
        ).status in {ClaimStatus.UNWANTED, ClaimStatus.DONE}


def test_a_coordinator_that_takes_over_gives_up_what_its_predecessor_left(counted):
    bench, plan = counted.bench, early_plan()
    bench.fleet.mishap = lambda job, lane: "lost" if "/ gate / val-11 /" in job.label else None
    run = bench.submit(plan).run
    bench.drive(run)
    events = bench.events(run)
    assert any(isinstance(event, Gated) and event.early for event in events)
    state = bench.known(plan)
    facts = LedgerFacts(run, bench.state.runs.ledger(run), bench.state.results, bench.state.blobs)
    assert left_open(state, facts, JobFactory(plan, run))


def test_a_finished_run_waits_for_nothing(counted):
    bench, plan = counted.bench, early_plan()
    bench.fleet.mishap = lambda job, lane: "lost" if "/ gate / val-11 /" in job.label else None
    plan = plan.model_copy(
        update={
            "settings": plan.settings.model_copy(
                update={
                    "evaluation": plan.settings.evaluation.model_copy(update={"eval_test": False})
                }
            )
        }
    )
    state = bench.run(plan)
    assert state.finished
    assert counted.dropped
