"""The attempts of a run, with what its ledger says of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from producer.artifacts import due_records
from producer.facts import LedgerFacts
from producer.folder.rollouts import Scope
from producer.known_runs import KnownRun
from skillopt.domain.item import SPLITS
from skillopt.domain.jobs import RolloutSpec
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.run import RunState

UNDER_WAY = "under way"


@dataclass(frozen=True)
class RunAttempt:
    """One attempt that a run asked for."""

    stage: str
    step: int | None
    task: str
    sample: int
    spec: RolloutSpec
    #: What the run's ledger holds; None if it has no result (yet).
    line: LedgerLine | None


def attempts_of(known: KnownRun, state: RunState, facts: LedgerFacts) -> list[RunAttempt]:
    """Give the attempts of a run, each job once, at the stage that first needed it."""
    found: dict[str, RunAttempt] = {}
    for due in due_records(state):
        for scope in due.attempts():
            for attempt in _of_scope(known, state, facts, scope):
                found.setdefault(attempt.spec.id, attempt)
    for scope in _under_way(state):
        for attempt in _of_scope(known, state, facts, scope):
            if attempt.line is not None:
                found.setdefault(attempt.spec.id, attempt)
    return list(found.values())


def narrowed(
    attempts: list[RunAttempt], *, task: str | None, step: int | None, sample: int | None
) -> list[RunAttempt]:
    return [
        attempt
        for attempt in attempts
        if task in (None, attempt.task)
        and step in (None, attempt.step)
        and sample in (None, attempt.sample)
    ]


def _of_scope(
    known: KnownRun, state: RunState, facts: LedgerFacts, scope: Scope
) -> Iterator[RunAttempt]:
    documents = state.texts[scope.skill]
    for item in scope.items:
        for sample in scope.samples:
            spec = known.factory.rollout(scope.skill, documents, item, sample)
            yield RunAttempt(scope.stage, scope.step, item.id, sample, spec, facts.line(spec.id))


def _under_way(state: RunState) -> Iterator[Scope]:
    """Name where results may be that no stage has used yet: the documents at hand, on all tasks."""
    settings, step = state.plan.settings, state.step
    samples = max(settings.train.samples, settings.evaluation.samples * max(1, state.plan.arms))
    candidate = step.proposed.skill if step and step.proposed else state.current
    for skill in dict.fromkeys((state.current, candidate)):
        for split in SPLITS:
            yield Scope(
                stage=UNDER_WAY,
                skill=skill,
                split=split,
                items=state.plan.splits.of(split),
                samples=range(samples),
                step=step.started.step if step else None,
            )
