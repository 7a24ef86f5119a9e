"""What makes one plan another run than an earlier plan, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skillopt.domain.backend import BackendUse, CallUse
from skillopt.domain.fingerprint import short
from skillopt.domain.item import SPLITS, Item, SplitName
from skillopt.domain.jobs import OPTIMIZE_STAGES
from skillopt.domain.plan import RunPlan
from skillopt.domain.usage import ROLES

#: More lines of one sort than this are summed up.
_SHOWN_TASKS = 10


def describe_changes(old: RunPlan, new: RunPlan) -> list[str]:
    """Name each key or file that differs; empty if both plans are the same run."""
    changes = [
        f"{name}: {_shown(before)} -> {_shown(after)}"
        for name, before, after in (
            ("mode", old.mode, new.mode),
            ("split", old.eval_split, new.eval_split),
            ("arms", old.arms, new.arms),
            ("env", old.env, new.env),
        )
        if before != after
    ]
    changes += _settings(old.settings.model_dump(), new.settings.model_dump(), "")
    changes += _documents(old, new)
    changes += _tasks(old, new)
    changes += [
        f"template {name} changed"
        for name in sorted(old.templates.keys() | new.templates.keys())
        if old.templates.get(name) != new.templates.get(name)
    ]
    changes += [
        f"version of the {kind} judge: {_shown(old.judge_versions.get(kind))} -> "
        f"{_shown(new.judge_versions.get(kind))}"
        for kind in sorted(old.judge_versions.keys() | new.judge_versions.keys())
        if old.judge_versions.get(kind) != new.judge_versions.get(kind)
    ]
    changes += _backends(old, new)
    if not changes and old.replica != new.replica:
        changes.append("nothing: it is a further run of the same (--new)")
    return changes


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "not set"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:59] + "…")
    return str(value)


def _settings(old: dict[str, Any], new: dict[str, Any], prefix: str) -> Iterator[str]:
    for key, before in old.items():
        after = new[key]
        if isinstance(before, dict):
            yield from _settings(before, after, f"{prefix}{key}.")
        elif before != after:
            yield f"{prefix}{key}: {_shown(before)} -> {_shown(after)}"


def _documents(old: RunPlan, new: RunPlan) -> Iterator[str]:
    if old.skill != new.skill:
        yield "skill text changed"
    if old.memory != new.memory:
        gone, added = new.memory is None, old.memory is None
        yield "memory is gone" if gone else "memory is new" if added else "memory text changed"
    before, after = ({file.path: file for file in plan.files or ()} for plan in (old, new))
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            word = "is new" if path not in before else "is gone" if path not in after else "changed"
            yield f"file {path} of the skill folder {word}"
    if (old.files is None) != (new.files is None):
        names = ["a file" if plan.files is None else "a folder" for plan in (old, new)]
        yield f"skill was {names[0]} and is {names[1]}"


def _places(plan: RunPlan) -> dict[str, tuple[SplitName, Item]]:
    return {item.id: (split, item) for split in SPLITS for item in plan.splits.of(split)}


def _tasks(old: RunPlan, new: RunPlan) -> list[str]:
    before, after = _places(old), _places(new)
    changes = []
    for item_id in sorted(before.keys() | after.keys()):
        if item_id not in after:
            changes.append(f"task {item_id} of {before[item_id][0]} is gone")
            continue
        split, item = after[item_id]
        if item_id not in before:
            changes.append(f"task {item_id} of {split} is new")
            continue
        earlier_split, earlier = before[item_id]
        if earlier_split != split:
            changes.append(f"task {item_id} moved from {earlier_split} to {split}")
        if earlier != item:
            changes.append(f"task {item_id} of {split} changed")
    if len(changes) > _SHOWN_TASKS:
        rest = len(changes) - _SHOWN_TASKS
        return [*changes[:_SHOWN_TASKS], f"and {rest} more changes of tasks"]
    if not changes:
        changes = [
            f"order of the {split} tasks changed (split.seed)"
            for split in SPLITS
            if old.splits.of(split) != new.splits.of(split)
        ]
    return changes


def _backends(old: RunPlan, new: RunPlan) -> Iterator[str]:
    for role in ROLES:
        before, after = old.backends.get(role), new.backends.get(role)
        if before == after:
            continue
        names = [None if use is None else use.backend for use in (before, after)]
        if names[0] != names[1]:
            yield f"backend of {role} changed: {_shown(names[0])} -> {_shown(names[1])}"
        elif before is not None and after is not None:
            parameters = list(_parameters(before, after))
            yield from parameters
            if not parameters:
                yield (
                    f"backend of {role} changed: {after.backend!r} has another model, parameter "
                    f"or revision now ({short(before.fingerprint)} -> {short(after.fingerprint)})"
                )


def _parameters(old: BackendUse, new: BackendUse) -> Iterator[str]:
    """Name the parameters that differ; a stage's only where it does not follow its role."""
    of_role = list(_changed(old, new))
    yield from (f"model.{new.role}.params.{change}" for change in of_role)
    for stage in OPTIMIZE_STAGES:
        for change in _changed(old.at(stage), new.at(stage)):
            if change not in of_role:
                yield f"model.{new.role}.stages.{stage}.{change}"


def _changed(old: CallUse, new: CallUse) -> Iterator[str]:
    if None in (old.params or old.own, new.params or new.own):
        return  # a plan that does not say what the parameters were
    before, after = old.effective.model_dump(), new.effective.model_dump()
    for name, value in before.items():
        one, other = ({"": part} if not isinstance(part, dict) else part
                      for part in (value, after[name]))  # fmt: skip
        for key in sorted(one.keys() | other.keys()):
            if one.get(key) != other.get(key):
                label = f"{name}.{key}".rstrip(".")
                yield f"{label}: {_shown(one.get(key))} -> {_shown(other.get(key))}"
