"""The end of an epoch: compare it with the one before, then slow update and meta skill."""

from __future__ import annotations

from skillopt.domain.run import RunState
from skillopt.loop.decision import Decision
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory


def is_due(state: RunState) -> bool:
    """Whether an epoch has just ended whose end has something left to do."""
    return False


def epoch_end(state: RunState, facts: Facts, factory: JobFactory) -> Decision:
    """Do what comes next at the end of the epoch."""
    raise NotImplementedError
