"""Which records a run's folder is due, and writing those it does not have yet.

| file                  | due once                                             |
|-----------------------|------------------------------------------------------|
| baseline-val          | the initial document is measured                     |
| step-NNNN-1-rollout   | the step's batch is rolled out and analysed          |
| step-NNNN-2-optimizer | the step has its candidate, or has none              |
| step-NNNN-3-gate      | the gate has decided                                 |
| epoch-NN-1-compare    | the documents at an epoch's ends are compared        |
| epoch-NN-2-optimizer  | slow update and meta skill have been asked for       |
| epoch-NN-3-gate       | the gate has decided on the slow update              |
| test-<hash16>         | a document is measured on the test items             |
| eval-<split>          | an evaluation run has measured its document          |
| arm-N                 | an A/A run has measured its document the N-th time   |

Each file holds what was known when its stage was over: it comes out the same whenever it is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from producer.folder.moments import Moments
from producer.folder.optimizer_calls import Place, collect_optimizer
from producer.folder.rollouts import Scope, collect, jobs_of, locate
from producer.folder.stored import StoredCalls
from producer.records import CallRecord, OptimizerRecord
from producer.run_folder import RunFolder
from skillopt.domain.events import Compared, Event, Gated, Measured, decode_event
from skillopt.domain.fingerprint import short
from skillopt.domain.item import Item, SplitName
from skillopt.domain.measurement import Measurement
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import EpochEnd, RunState, StepState
from skillopt.loop.facts import Facts
from skillopt.state.ports import State


@dataclass(frozen=True)
class Sources:
    """What records are taken from."""

    stored: StoredCalls
    ledger: Facts
    moments: Moments


#: Which attempts are meant; their tasks are looked up only where a file is written.
Scopes = Callable[[], Sequence[Scope]]


@dataclass(frozen=True)
class DueRecords:
    """One record file that should exist, and how to fill it."""

    name: str
    collect: Callable[[Sources], Sequence[CallRecord]]
    #: The attempts it records; none of a file of optimizer calls.
    attempts: Scopes = tuple


def moments_of(folder: RunFolder, plan: RunPlan) -> Moments:
    """Give the moments of the run that a folder mirrors."""
    return Moments(plan, lambda: [decode_event(entry.event) for entry in folder.read_entries()])


def write_records(
    folder: RunFolder, ports: State, state: RunState, facts: Facts, moments: Moments | None = None
) -> list[str]:
    """Write the record files that are due and not there; returns their names.

    A file is written once and whole. The folder's log must have every event of `state`; without
    `moments` it is read if anything is due. With nothing due this costs one look into the folder.
    """
    present = folder.record_names()
    due = [one for one in due_records(state) if one.name not in present]
    known = moments or moments_of(folder, state.plan)
    sources = Sources(StoredCalls(ports, state.run, facts), facts, known)
    for one in due:
        folder.write_records(one.name, one.collect(sources))
    return [one.name for one in due]


def due_records(state: RunState) -> Iterator[DueRecords]:
    """Name every record file that the run has reached, in order."""
    initial = state.plan.initial_key
    if state.plan.mode == "aa":
        for arm, measurement in enumerate(state.arms):
            yield _measured(state, measurement, f"arm-{arm + 1}", f"arm {arm + 1}", arm)
        return
    if state.plan.mode == "eval":
        split = state.plan.eval_split or "test"
        if measured := state.measured.get((initial, split)):
            yield _measured(state, measured, f"eval-{split}", f"eval {split}")
        return
    if measured := state.measured.get((initial, "val")):
        yield _measured(state, measured, "baseline-val", "baseline")
    for step in state.steps:
        yield from _of_step(state, step)
    for end in state.epoch_ends.values():
        yield from _of_epoch_end(state, end)
    for (skill, split), measurement in state.measured.items():
        if split == "test":
            yield _measured(state, measurement, f"test-{short(skill)}", "final test")


def _of_step(state: RunState, step: StepState) -> Iterator[DueRecords]:
    number = step.started.step
    prefix = f"step-{number:04d}"
    if step.reflected:
        batch = partial(_batch_scopes, state, step)
        yield DueRecords(f"{prefix}-1-rollout", partial(_rollouts, step.reflected, batch), batch)
        if step.proposed or step.skipped:
            stages = (step.merged, step.budget, step.selected, step.noted)
            asked = (step.reflected, *stages, step.proposed, step.skipped)
            place = Place(f"step {number} / optimizer", step=number)
            collect_calls = partial(_optimizer, _present(asked), batch, place)
            yield DueRecords(f"{prefix}-2-optimizer", collect_calls)
    if step.gated and step.gated.verdict != "indecisive":
        gate = partial(_gate_scopes, state, step.gated, f"step {number} / gate", step=number)
        yield DueRecords(f"{prefix}-3-gate", partial(_rollouts, step.gated, gate), gate)


def _of_epoch_end(state: RunState, end: EpochEnd) -> Iterator[DueRecords]:
    compared, epoch = end.compared, end.compared.epoch
    prefix = f"epoch-{epoch:02d}"
    pairs = partial(_compared_scopes, state, compared)
    yield DueRecords(f"{prefix}-1-compare", partial(_rollouts, compared, pairs), pairs)
    asked = _present((end.proposed, end.skipped, end.meta))
    optimizer = state.plan.settings.optimizer
    all_asked = (end.meta or not optimizer.use_meta_skill) and (
        end.proposed or end.skipped or not optimizer.use_slow_update
    )
    if asked and (all_asked or state.finished):
        place = Place(f"epoch {epoch} / optimizer", epoch_end=epoch)
        yield DueRecords(f"{prefix}-2-optimizer", partial(_optimizer, asked, pairs, place))
    if end.gated and end.gated.verdict != "indecisive":
        gate = partial(_gate_scopes, state, end.gated, f"epoch {epoch} / gate", epoch_end=epoch)
        yield DueRecords(f"{prefix}-3-gate", partial(_rollouts, end.gated, gate), gate)


def _present(events: Sequence[Event | None]) -> list[Event]:
    return [event for event in events if event is not None]


def _items(state: RunState, split: SplitName, ids: Iterable[str]) -> tuple[Item, ...]:
    known = {item.id: item for item in state.plan.splits.of(split)}
    return tuple(known[item] for item in ids)


def _batch_scopes(state: RunState, step: StepState) -> list[Scope]:
    number = step.started.step
    return [
        Scope(
            stage=f"step {number} / rollout",
            skill=step.started.skill,
            split="train",
            items=_items(state, "train", step.started.items),
            samples=range(state.plan.settings.train.samples),
            step=number,
        )
    ]


def _compared_scopes(state: RunState, compared: Compared) -> list[Scope]:
    documents = {compared.previous: "previous"} | {compared.current: "current"}
    return [
        Scope(
            stage=f"epoch {compared.epoch} / compare {name}",
            skill=skill,
            split="train",
            items=_items(state, "train", compared.sampled),
            samples=range(1),
            epoch_end=compared.epoch,
        )
        for skill, name in documents.items()
    ]


def _gate_scopes(
    state: RunState,
    gated: Gated,
    stage: str,
    *,
    step: int | None = None,
    epoch_end: int | None = None,
) -> list[Scope]:
    """Give the attempts that decided: of an early decision, no others."""
    return [
        Scope(
            stage=stage,
            skill=gated.skill,
            split=gated.measurement.split,
            items=_items(state, gated.measurement.split, gated.measurement.items),
            samples=range(state.plan.settings.evaluation.samples),
            step=step,
            epoch_end=epoch_end,
        )
    ]


def _measured(
    state: RunState, measurement: Measurement, name: str, stage: str, arm: int = 0
) -> DueRecords:
    event = Measured(measurement=measurement, arm=arm)
    scopes = partial(_measured_scopes, state, measurement, stage, arm)
    return DueRecords(name, partial(_rollouts, event, scopes), scopes)


def _measured_scopes(
    state: RunState, measurement: Measurement, stage: str, arm: int
) -> list[Scope]:
    samples = state.plan.settings.evaluation.samples
    return [
        Scope(
            stage=stage,
            skill=measurement.skill,
            split=measurement.split,
            items=_items(state, measurement.split, measurement.items),
            samples=range(arm * samples, (arm + 1) * samples),
        )
    ]


def _rollouts(event: Event, scopes: Scopes, sources: Sources) -> list[CallRecord]:
    """Record the attempts that an event was decided by."""
    then = sources.moments.of(event).before
    return [
        record
        for scope in scopes()
        for record in collect(then, sources.stored, locate(then, sources.ledger, scope), scope)
    ]


def _optimizer(
    events: Sequence[Event], shown: Scopes, place: Place, sources: Sources
) -> list[OptimizerRecord]:
    """Record the optimizer calls behind events; `shown` are the attempts their prompts show."""
    moments = [sources.moments.of(event) for event in events]
    then = moments[0].before
    located = [locate(then, sources.ledger, scope) for scope in shown()]
    sources.stored.load(job for evaluation in located for job in jobs_of(evaluation))
    return collect_optimizer(moments, sources.stored, sources.ledger, place)
