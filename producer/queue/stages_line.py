"""The stages of a run one after the other, read off its log as it grows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from producer.queue.models import StageShare
from skillopt.domain.events import (
    BudgetDecided,
    Compared,
    Event,
    Finished,
    Gated,
    Measured,
    Merged,
    MetaLearned,
    Noted,
    Proposed,
    Reflected,
    RunCreated,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.plan import RunPlan
from skillopt.domain.steering_events import Cancelled, GaveUp, LeftOut, Paused, Resumed, Retuned

#: What a step was doing until one of these events ended it.
_STEP_STAGES: dict[type[object], str] = {
    Reflected: "reflect",
    Merged: "merge",
    BudgetDecided: "budget",
    Selected: "rank",
    Noted: "appendix",
}
PAUSED = "paused"


@dataclass(frozen=True)
class StagesLine:
    """Stages that are over, and since when the present one goes on."""

    plan: RunPlan
    over: tuple[StageShare, ...] = ()
    since: float = 0.0
    #: The epoch whose end came last.
    epoch: int = 0

    def after(self, at: float, event: Event) -> StagesLine:
        """Give the line with one more event of the log."""
        if isinstance(event, GaveUp | LeftOut | Retuned) or self._is_background(event):
            return self
        epoch = event.epoch if isinstance(event, Compared) else self.epoch
        label = _ended_by(event, self.plan, epoch)
        over = self.over
        if label and at > self.since:
            over = (*over, StageShare(label=label, began_at=self.since, ended_at=at))
        return replace(self, over=over, since=at, epoch=epoch)

    def _is_background(self, event: Event) -> bool:
        """Whether it ended a measurement that went on beside the stages: the first test."""
        return (
            isinstance(event, Measured)
            and self.plan.mode == "train"
            and event.measurement.split == "test"
            and event.measurement.skill == self.plan.initial_key
        )

    def shown(self, stage: str) -> tuple[StageShare, ...]:
        """Give all stages, with the one under way if there is any."""
        if not stage:
            return self.over
        return (*self.over, StageShare(label=stage, began_at=self.since, ended_at=None))


def _ended_by(event: Event, plan: RunPlan, epoch: int) -> str:  # noqa: C901, PLR0911 - one arm per event
    """Name the stage that an event ends; "" if it ends none that took time."""
    match event:
        case RunCreated() | StepStarted() | Paused() | Finished() | Cancelled():
            return ""
        case Resumed():
            return PAUSED
        case Measured():
            return _measured(event, plan)
        case Compared():
            return f"epoch {epoch} / compare"
        case MetaLearned():
            return f"epoch {epoch} / meta skill"
        case Proposed() | Skipped() if event.source == "step":
            return f"step {event.step} / update"
        case Proposed() | Skipped():
            return f"epoch {epoch} / slow update"
        case Gated() if event.source == "step":
            return f"step {event.step} / gate"
        case Gated():
            return f"epoch {epoch} / slow update gate"
        case Reflected() | Merged() | BudgetDecided() | Selected() | Noted():
            return f"step {event.step} / {_STEP_STAGES[type(event)]}"
    return ""


def _measured(event: Measured, plan: RunPlan) -> str:
    if plan.mode == "aa":
        return f"arm {event.arm + 1}"
    split = event.measurement.split
    if plan.mode == "eval":
        return f"eval {split}"
    return "baseline" if split == "val" else "final test"
