"""The rules of the next gate of a run."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.domain.run import RunState
from skillopt.domain.spec import Evaluation


@dataclass(frozen=True)
class GateRules:
    settings: Evaluation
    #: The part of the run's error that this gate may spend; None without `significance`.
    level: float | None = None
    #: Val tasks that must not get worse.
    protected: frozenset[str] = frozenset()


def rules_of(state: RunState) -> GateRules:
    return GateRules(state.plan.settings.evaluation)
