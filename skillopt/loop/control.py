"""Who says how many edits a step applies: the optimizer, in `lr_control_mode: autonomous`."""

from __future__ import annotations

from skillopt.domain.events import BudgetDecided
from skillopt.domain.run import RunState, StepState
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory


def choose_budget(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[BudgetDecided]:
    """Ask the optimizer how many of the merged edits to apply."""
    raise NotImplementedError
