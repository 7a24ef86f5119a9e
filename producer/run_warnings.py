"""What a reader of a run's scores must know: tasks without a score, analyses lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillopt.domain.item import SplitName
from skillopt.domain.measurement import Measurement
from skillopt.domain.run import RunState

#: Tasks named in a warning.
NAMED_TASKS = 5


def warnings_of(state: RunState) -> Iterator[str]:
    """Say each thing once, in the order of the log."""
    said: dict[str, None] = {}
    for split, measurement in _shown(state):
        said.update(dict.fromkeys(_unscored(split, measurement)))
    yield from said
    if state.left_out:
        tasks = [f"{item} ({why})" if why else item for item, why in state.left_out.items()]
        yield f"tasks left out of every comparison by a person: {_named(tasks)}"
    groups = [g for s in state.steps if s.reflected for g in s.reflected.groups]
    lost = sum(group.status == "dropped" for group in groups)
    if lost:
        yield f"{lost} of {len(groups)} analyses gave no usable reply and were dropped"
    yield from _copies(state)


def _shown(state: RunState) -> Iterator[tuple[SplitName, Measurement]]:
    """Give the measurements whose scores a reader sees."""
    documents = (state.plan.initial_key, state.best, state.current)
    for (skill, split), measurement in state.measured.items():
        if skill in documents:
            yield split, measurement
    for arm in state.arms:
        yield arm.split, arm


def _unscored(split: SplitName, measurement: Measurement) -> Iterator[str]:
    why = {"invalid": "cannot be scored and are left out", "missing": "have no result"}
    for status, words in why.items():
        ids = [item for item, score in measurement.items.items() if score.status == status]
        if ids:
            yield f"{len(ids)} of {len(measurement.items)} {split} tasks {words}: {_named(ids)}"


def _copies(state: RunState) -> Iterator[str]:
    """Say if changes that were kept repeat tasks' own text: those may be learnt by heart."""
    steps = [step.proposed for step in state.steps]
    ends = [end.proposed for end in state.epoch_ends.values()]
    kept = {gated.skill for gated in state.gates if gated.adopted}
    copied: dict[str, None] = {}
    for proposed in (*steps, *ends):
        if proposed and proposed.skill in kept:
            copied.update(dict.fromkeys(proposed.copied_from))
    if copied:
        yield f"changes that were kept repeat the text of train tasks: {_named(list(copied))}"


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - NAMED_TASKS} more" if len(ids) > NAMED_TASKS else ""
    return ", ".join(ids[:NAMED_TASKS]) + more
