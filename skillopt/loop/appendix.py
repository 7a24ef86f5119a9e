"""The appendix: reminders for rules that exist and were not followed."""

from __future__ import annotations

from skillopt.domain.events import Noted
from skillopt.domain.run import RunState, StepState
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory


def note(state: RunState, facts: Facts, factory: JobFactory, step: StepState) -> StageResult[Noted]:
    """Collect the notes of the step's analysts into the appendix of its candidate."""
    raise NotImplementedError
