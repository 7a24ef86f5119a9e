"""The state of a run, as folded from its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from skillopt.domain.documents import Documents
from skillopt.domain.events import (
    BudgetDecided,
    Compared,
    Finished,
    Gated,
    Merged,
    MetaLearned,
    Noted,
    Proposed,
    Reflected,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.item import SplitName
from skillopt.domain.measurement import Measurement
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Budget, Priority, Stop
from skillopt.domain.steering_events import Cancelled, Paused

Status = Literal["running", "paused", "finished", "cancelled"]
#: Nobody works on such a run any more, and nothing is kept for it.
ENDED: Final[frozenset[str]] = frozenset({"finished", "cancelled"})


@dataclass(frozen=True)
class StepState:
    """What has happened in a step so far; the first absent part is what comes next."""

    started: StepStarted
    reflected: Reflected | None = None
    merged: Merged | None = None
    budget: BudgetDecided | None = None
    selected: Selected | None = None
    noted: Noted | None = None
    proposed: Proposed | None = None
    skipped: Skipped | None = None
    gated: Gated | None = None

    @property
    def ended(self) -> bool:
        return self.skipped is not None or (
            self.gated is not None and self.gated.verdict != "indecisive"
        )

    @property
    def edit_budget(self) -> int | None:
        """How many changes the step may apply; None is no limit."""
        return self.budget.edit_budget if self.budget else self.started.edit_budget


@dataclass(frozen=True)
class EpochEnd:
    """What has happened at the end of an epoch so far."""

    compared: Compared
    proposed: Proposed | None = None
    skipped: Skipped | None = None
    gated: Gated | None = None
    meta: MetaLearned | None = None

    @property
    def slow_update_ended(self) -> bool:
        return self.skipped is not None or (
            self.gated is not None and self.gated.verdict != "indecisive"
        )


@dataclass(frozen=True)
class RunState:
    """Everything that is known of a run. `current` and `best` name states of the documents."""

    run: str
    plan: RunPlan
    current: str
    best: str
    #: What is in force now; a person may change it while the run goes on.
    budget: Budget = field(default_factory=Budget)
    stop: Stop = field(default_factory=Stop)
    priority: Priority = "normal"
    window: int | None = None
    best_step: int = 0
    #: Every state of the documents in this run, by its key.
    texts: dict[str, Documents] = field(default_factory=dict)
    measured: dict[tuple[str, SplitName], Measurement] = field(default_factory=dict)
    #: The measurements of an A/A run.
    arms: tuple[Measurement, ...] = ()
    rejected: frozenset[str] = frozenset()
    steps: tuple[StepState, ...] = ()
    #: By epoch.
    epoch_ends: dict[int, EpochEnd] = field(default_factory=dict)
    #: What the optimizer remembers about editing; "" until the first epoch that taught it any.
    meta_skill: str = ""
    #: Tasks that a person took out of every comparison, and why.
    left_out: dict[str, str] = field(default_factory=dict)
    given_up: dict[str, str] = field(default_factory=dict)
    paused: Paused | None = None
    cancelled: Cancelled | None = None
    finished: Finished | None = None

    @property
    def step(self) -> StepState | None:
        """The step under way."""
        return self.steps[-1] if self.steps and not self.steps[-1].ended else None

    @property
    def gates(self) -> tuple[Gated, ...]:
        """Every gate that has decided, in order."""
        found = [step.gated for step in self.steps]
        found += [end.gated for end in self.epoch_ends.values()]
        decided = [gated for gated in found if gated and gated.verdict != "indecisive"]
        return tuple(sorted(decided, key=lambda gated: (gated.step, gated.source != "step")))

    @property
    def status(self) -> Status:
        if self.finished:
            return "finished"
        if self.cancelled:
            return "cancelled"
        return "paused" if self.paused else "running"

    @property
    def val(self) -> Measurement | None:
        return self.measured.get((self.current, "val"))
