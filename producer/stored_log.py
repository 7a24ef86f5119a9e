"""Reading a run's log back: only what belongs to its plan is folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillopt.domain.events import (
    Compared,
    Event,
    Gated,
    Measured,
    Proposed,
    Reflected,
    RunCreated,
    StepStarted,
    decode_event,
)
from skillopt.domain.item import SPLITS
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.errors import StateCorrupt
from skillopt.loop.fold import fold
from skillopt.state.ports import LogEntry


def folded(plan: RunPlan, entries: Sequence[LogEntry]) -> RunState:
    """Give the state of a run from its stored log.

    Raises NotUnderstood for an event of another version, StateCorrupt for a log that is damaged,
    or of another run.
    """
    events = [decode_event(entry.event) for entry in entries]
    _check(plan, events)
    return fold(plan, events)


@dataclass
class _Known:
    """What the events of a run may name."""

    tasks: frozenset[str]
    documents: set[str]


def _check(plan: RunPlan, events: Sequence[Event]) -> None:
    created = events[0] if events else None
    if isinstance(created, RunCreated) and (created.run, created.skill) != (
        plan.run_id,
        plan.initial_key,
    ):
        raise StateCorrupt(
            f"the log is that of run {created.run!r}, not of {plan.run_id!r}; `skillopt restore "
            "RUN_DIR` rebuilds a run from its folder"
        )
    tasks = frozenset(item.id for split in SPLITS for item in plan.splits.of(split))
    known = _Known(tasks, {plan.initial_key})
    for number, event in enumerate(events, start=1):
        if isinstance(event, Proposed):
            known.documents.add(event.skill)
        for name, names, here in (
            ("task", _tasks(event), known.tasks),
            ("document", _documents(event), known.documents),
        ):
            unknown = next((one for one in names if one not in here), None)
            if unknown is not None:
                raise StateCorrupt(
                    f"event {number} of the log names {name} {unknown!r}, which run "
                    f"{plan.run_id!r} does not have; `skillopt restore RUN_DIR` rebuilds a run "
                    "from its folder"
                )


def _tasks(event: Event) -> Iterable[str]:
    match event:
        case StepStarted():
            return event.items
        case Compared():
            return event.sampled
        case Reflected():
            return event.batch.items
        case Measured() | Gated():
            return event.measurement.items
    return ()


def _documents(event: Event) -> Iterable[str]:
    match event:
        case StepStarted() | Gated():
            return (event.skill,)
        case Measured():
            return (event.measurement.skill,)
        case Compared():
            return (event.previous, event.current)
        case Proposed():
            return (event.parent,)
    return ()
