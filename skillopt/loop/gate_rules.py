"""The rules of the next gate of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillopt.domain.item import Item
from skillopt.domain.run import RunState
from skillopt.domain.spec import Evaluation
from skillopt.loop.spending import level_of

#: How `no_regression` names all tasks that have a tag.
TAG = "tag:"


@dataclass(frozen=True)
class GateRules:
    settings: Evaluation
    #: The part of the run's error that this gate may spend; None without `significance`.
    level: float | None = None
    #: Val tasks that must not get worse.
    protected: frozenset[str] = frozenset()


def rules_of(state: RunState) -> GateRules:
    settings = state.plan.settings.evaluation
    protected = protected_tasks(settings.no_regression, state.plan.splits.val)
    return GateRules(settings, level_of(state), protected)


def protected_tasks(named: Sequence[str], items: Iterable[Item]) -> frozenset[str]:
    """Give the ids of the items that are named by id, by `tag:NAME` or by `all`.

    A name that no item answers to protects nothing.
    """
    names = frozenset(named)
    return frozenset(
        item.id
        for item in items
        if "all" in names or item.id in names or any(TAG + tag in names for tag in item.tags)
    )
