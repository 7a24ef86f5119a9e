"""Which records a run's folder is due, and writing those it does not have yet.

| file                  | due once                                    |
|-----------------------|---------------------------------------------|
| baseline-val          | the initial document is measured            |
| step-NNNN-1-rollout   | the step's batch is rolled out and analysed |
| step-NNNN-2-optimizer | the step's edits are selected               |
| step-NNNN-3-gate      | the gate has decided                        |
| test-<hash16>         | a document is measured on the test items    |
| eval-<split>          | an evaluation run has measured its document |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from producer.folder.optimizer_calls import collect_optimizer
from producer.folder.rollouts import Scope, collect, locate
from producer.folder.stored import StoredCalls
from producer.records import CallRecord
from producer.run_folder import RunFolder
from skillopt.domain.fingerprint import short
from skillopt.domain.item import SplitName
from skillopt.domain.run import RunState, StepState
from skillopt.loop import sample
from skillopt.loop.facts import Facts
from skillopt.state.ports import State


@dataclass(frozen=True)
class DueRecords:
    """One record file that should exist, and how to fill it."""

    name: str
    collect: Callable[[StoredCalls], Sequence[CallRecord]]


def write_records(folder: RunFolder, ports: State, state: RunState, facts: Facts) -> list[str]:
    """Write the record files that are due and not there; returns their names.

    A file is written once and whole. With nothing due this costs one look into the folder.
    """
    present = folder.record_names()
    due = [one for one in due_records(state, facts) if one.name not in present]
    stored = StoredCalls(ports, state.run, facts)
    for one in due:
        folder.write_records(one.name, one.collect(stored))
    return [one.name for one in due]


def due_records(state: RunState, facts: Facts) -> Iterator[DueRecords]:
    """Name every record file that the run has reached, in order."""
    initial = state.plan.initial_key
    if state.plan.mode == "eval":
        split = state.plan.eval_split or "test"
        if (initial, split) in state.measured:
            yield _measured(state, facts, initial, split, f"eval-{split}", f"eval {split}")
        return
    if (initial, "val") in state.measured:
        yield _measured(state, facts, initial, "val", "baseline-val", "baseline")
    for step in state.steps:
        yield from _of_step(state, facts, step)
    for skill, split in state.measured:
        if split == "test":
            yield _measured(state, facts, skill, "test", f"test-{short(skill)}", "final test")


def _of_step(state: RunState, facts: Facts, step: StepState) -> Iterator[DueRecords]:
    plan, number = state.plan, step.started.step
    prefix = f"step-{number:04d}"
    if step.reflected:
        scope = Scope(
            stage=f"step {number} / rollout",
            step=number,
            skill=step.started.skill,
            split="train",
            items=sample.batch_of(plan, number),
            samples=plan.settings.train.samples,
        )
        yield DueRecords(f"{prefix}-1-rollout", partial(_rollouts, state, facts, scope))
    if step.selected:
        yield DueRecords(f"{prefix}-2-optimizer", partial(_optimizer, state, facts, step))
    if step.gated and step.gated.verdict != "indecisive":
        name, stage = f"{prefix}-3-gate", f"step {number} / gate"
        yield _measured(state, facts, step.gated.skill, "val", name, stage, number)


def _measured(
    state: RunState,
    facts: Facts,
    skill: str,
    split: SplitName,
    name: str,
    stage: str,
    step: int | None = None,
) -> DueRecords:
    items, samples = state.plan.splits.of(split), state.plan.settings.evaluation.samples
    scope = Scope(stage, step, skill, split, items, samples)
    return DueRecords(name, partial(_rollouts, state, facts, scope))


def _rollouts(
    state: RunState, facts: Facts, scope: Scope, stored: StoredCalls
) -> Sequence[CallRecord]:
    return collect(state, stored, locate(state, facts, scope), scope)


def _optimizer(
    state: RunState, facts: Facts, step: StepState, stored: StoredCalls
) -> Sequence[CallRecord]:
    return collect_optimizer(state, stored, facts, step)
