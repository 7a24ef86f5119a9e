"""What a decision is made of: events to write, or jobs to wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from skillopt.domain.events import Event
from skillopt.domain.steering_events import Paused
from skillopt.loop.evaluate import Evaluation
from skillopt.loop.jobs import WantedJob

E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True)
class Decision:
    """Events come first: once they are written, decide again."""

    events: tuple[Event, ...] = ()
    wanted: tuple[WantedJob, ...] = ()
    stage: str = ""
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class StageResult(Generic[E_co]):
    """A stage that asks the optimizer: its event, or the jobs still wanted for it, or why they
    cannot be run.
    """

    event: E_co | None = None
    wanted: tuple[WantedJob, ...] = ()
    given_up: str = ""


def waiting(stage: str, evaluation: Evaluation, more: Sequence[WantedJob] = ()) -> Decision:
    """Wait for the attempts of an evaluation, and for jobs that came of its first results."""
    attempts = evaluation.attempts
    return Decision(
        wanted=(*evaluation.wanted, *more),
        stage=stage,
        done=sum(attempt.settled for attempt in attempts),
        total=len(attempts),
    )


def decision_of(result: StageResult[Event], stage: str) -> Decision:
    """Write a stage's event, or wait for what it wants, or pause if that cannot be had."""
    if result.given_up:
        return optimizer_missing(result.given_up)
    if result.event is None:
        return Decision(wanted=result.wanted, stage=stage)
    return Decision((result.event,))


def optimizer_missing(problem: str) -> Decision:
    detail = f"an optimizer call cannot be made: {problem}"
    return Decision((Paused(why="infrastructure", detail=detail),))
