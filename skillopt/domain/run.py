"""The state of a run, as folded from its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from skillopt.domain.events import (
    Finished,
    Gated,
    Measurement,
    Merged,
    Paused,
    Proposed,
    Reflected,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.item import SplitName
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Budget

Status = Literal["running", "paused", "finished"]


@dataclass(frozen=True)
class StepState:
    """What has happened in a step so far; the first absent part is what comes next."""

    started: StepStarted
    reflected: Reflected | None = None
    merged: Merged | None = None
    selected: Selected | None = None
    proposed: Proposed | None = None
    skipped: Skipped | None = None
    gated: Gated | None = None

    @property
    def ended(self) -> bool:
        return self.skipped is not None or (
            self.gated is not None and self.gated.verdict != "indecisive"
        )


@dataclass(frozen=True)
class RunState:
    """Everything that is known of a run. `current` and `best` are document hashes."""

    run: str
    plan: RunPlan
    current: str
    best: str
    budget: Budget = field(default_factory=Budget)
    best_step: int = 0
    #: Every document of this run by its hash.
    texts: dict[str, str] = field(default_factory=dict)
    measured: dict[tuple[str, SplitName], Measurement] = field(default_factory=dict)
    rejected: frozenset[str] = frozenset()
    steps: tuple[StepState, ...] = ()
    given_up: dict[str, str] = field(default_factory=dict)
    paused: Paused | None = None
    finished: Finished | None = None

    @property
    def step(self) -> StepState | None:
        """The step under way."""
        return self.steps[-1] if self.steps and not self.steps[-1].ended else None

    @property
    def status(self) -> Status:
        if self.finished:
            return "finished"
        return "paused" if self.paused else "running"

    @property
    def val(self) -> Measurement | None:
        return self.measured.get((self.current, "val"))
