"""What a run says of itself beside its log: whose it is, and the words that its people gave it."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Priority

_LABEL = "label "
#: Where document and tasks came from, in words.
_ORIGIN = ("skill", "spec")


def meta_of(plan: RunPlan, labels: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give the fields that a run is created with; quotas go by its owner."""
    named = {f"{_LABEL}{name}": value for name, value in (labels or {}).items()}
    whose = {"owner": plan.owner, "team": plan.team, "priority": plan.priority}
    return {**named, "name": plan.name, **whose}


def owner_of(meta: Mapping[str, str]) -> str:
    return meta.get("owner", "")


def team_of(meta: Mapping[str, str]) -> str:
    return meta.get("team", "")


def priority_of(meta: Mapping[str, str]) -> Priority:
    """Give the priority that a run was created with; `RunState.priority` is the one in force."""
    written = meta.get("priority")
    return "low" if written == "low" else "high" if written == "high" else "normal"


def labels_of(meta: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(_LABEL): value for name, value in meta.items() if name.startswith(_LABEL)
    }


def told_in_folder(meta: Mapping[str, str]) -> dict[str, str]:
    """Give what a run's folder keeps of this: where things came from, and the labels."""
    return {**{name: meta[name] for name in _ORIGIN if name in meta}, **labels_of(meta)}


def meta_from_folder(told: Mapping[str, str], plan: RunPlan) -> dict[str, str]:
    """Give the fields of a run again from what its folder keeps of them."""
    origin = {name: told[name] for name in _ORIGIN if name in told}
    return {**origin, **meta_of(plan, {name: told[name] for name in told if name not in _ORIGIN})}
