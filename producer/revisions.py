"""Naming a state of a run's documents as people do: initial, best, final, or a step."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.domain.documents import Documents
from skillopt.domain.fingerprint import short
from skillopt.domain.run import RunState
from skillopt.errors import InputError

_NAMES = ("initial", "best", "final")


@dataclass(frozen=True)
class Revision:
    #: "best 1f3a…": what people read.
    label: str
    key: str
    documents: Documents


def find_revision(state: RunState, reference: str, option: str) -> Revision:
    """Find the documents that a reference names; a number is the candidate of that step, e2 that
    of the slow update at the end of epoch 2.

    Raises InputError, with what there is, for anything else.
    """
    named = {"initial": state.plan.initial_key, "best": state.best, "final": state.current}
    if reference in named:
        return _revision(state, named[reference], reference)
    candidates = {str(step.started.step): step.proposed for step in state.steps}
    candidates |= {f"e{epoch}": end.proposed for epoch, end in state.epoch_ends.items()}
    if reference in candidates:
        proposed = candidates[reference]
        if proposed is None:
            raise InputError(f"{option}: {_part(reference)} has no candidate; name another")
        return _revision(state, proposed.skill, _part(reference))
    keys = [key for key in state.texts if len(reference) >= 4 and key.startswith(reference)]
    if len(keys) == 1:
        return _revision(state, keys[0], short(keys[0]))
    steps = f", a step from 1 to {len(state.steps)}" if state.steps else ""
    steps += "".join(f", e{epoch} (slow update)" for epoch in sorted(state.epoch_ends))
    raise InputError(
        f"{option}: {reference!r} names no document of the run; give {', '.join(_NAMES)}{steps}, "
        "or the beginning of a document's hash"
    )


def _part(reference: str) -> str:
    if reference.startswith("e"):
        return f"slow update of epoch {reference[1:]}"
    return f"step {reference}"


def _revision(state: RunState, key: str, name: str) -> Revision:
    return Revision(f"{name} {short(key)}", key, state.texts[key])
