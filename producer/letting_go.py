"""What a run may still be waiting for, though nobody knows who asked for it."""

from __future__ import annotations

from dataclasses import replace

from producer.facts import LedgerFacts, ResultMissing
from producer.wants import left_open
from skillopt.domain.run import RunState
from skillopt.loop.decide import Decision, decide
from skillopt.loop.fold import apply
from skillopt.loop.jobs import JobFactory
from skillopt.state.ports import State


def open_jobs(ports: State, state: RunState) -> list[str]:
    """Name every job that some coordinator of a run may have wanted and that has no result.

    What can be decided already is supposed to be: then the stage that comes to an end by it is
    looked at as well as the one that it leads to.
    """
    run = state.run
    facts = LedgerFacts(run, ports.runs.ledger(run), ports.results, ports.blobs)
    factory = JobFactory(state.plan, run)
    going_on = replace(state, finished=None, cancelled=None, paused=None, given_up={})
    jobs = dict.fromkeys(left_open(going_on, facts, factory))
    while going_on.status == "running":
        decision = _decided(going_on, facts, factory)
        jobs |= dict.fromkeys(job.id for job in decision.wanted)
        if not decision.events:
            break
        for event in decision.events:
            going_on = apply(going_on, event)
        jobs |= dict.fromkeys(left_open(going_on, facts, factory))
    return [job for job in jobs if facts.line(job) is None]


def _decided(state: RunState, facts: LedgerFacts, factory: JobFactory) -> Decision:
    while True:
        try:
            return decide(state, facts, factory)
        except ResultMissing as missing:
            facts.forget(missing.job)  # it would be wanted again
