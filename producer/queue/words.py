"""What a run does, why it waits and how it ended, in a phase and a sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from producer.queue.followed import FollowedRun
from producer.queue.models import Phase
from producer.summary import reason_of
from producer.view.printable import one_line
from producer.view.stages import stage_words, waiting_words
from skillopt.domain.run import RunState
from skillopt.domain.view import RunView

#: Longer reasons are cut for people; the run's log has them whole.
_LONGEST = 500


@dataclass(frozen=True)
class Surroundings:
    """What a look at several runs knows besides their logs, taken once for all of them."""

    now: float
    #: Who leads which run.
    leaders: Mapping[str, str] = field(default_factory=dict)
    coordinators: Sequence[str] = ()
    #: Backends that have a live worker.
    served: Collection[str] = ()


def phase_of(known: FollowedRun, around: Surroundings) -> Phase:
    state = known.state
    if state.status != "running":
        return state.status
    return "queued" if known.run not in around.leaders and is_untouched(state) else "running"


def is_untouched(state: RunState) -> bool:
    """Whether nothing has happened in a run since it was created."""
    return not (state.measured or state.arms or state.steps or state.given_up)


def words_of(known: FollowedRun, view: RunView, phase: Phase, around: Surroundings) -> str:
    """Say in a sentence what a run does now, why it waits or rests, or how it ended."""
    if phase not in ("queued", "running"):
        return one_line(reason_of(known.state), _LONGEST) or phase
    if known.run not in around.leaders:
        return one_line(_without_coordinator(known, view, around), _LONGEST)
    if view.waiting:
        return f"{_stage(view)}; {waiting_words(view.waiting)}"[:_LONGEST]
    return _stage(view)


def _stage(view: RunView) -> str:
    done = f" ({view.done} of {view.total})" if view.total else ""
    return f"{stage_words(view.stage)}{done}"


def _without_coordinator(known: FollowedRun, view: RunView, around: Surroundings) -> str:
    if view.waiting and not view.stage:  # a coordinator said why it does not drive the run
        return waiting_words(view.waiting)
    if not around.coordinators:
        return "waiting for a coordinator: none is running; start one with `skillopt coordinator`"
    used = dict.fromkeys(use.backend for use in known.plan.backends.values())
    lacking = [name for name in used if name not in around.served]
    if lacking:
        return f"waiting for a coordinator, and then for a worker of {', '.join(lacking)}"
    return "waiting for a coordinator, which takes it up in a moment"
