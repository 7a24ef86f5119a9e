"""`evaluation.no_regression`: does every entry name a val task that there is?"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.config.origins import Origin, Problems
from skillopt.config.suggest import did_you_mean, nearest
from skillopt.domain.item import SPLITS, Item, Splits
from skillopt.errors import ConfigError
from skillopt.loop.gate_rules import TAG

_KEY = "evaluation.no_regression"


def check_protected(entries: Sequence[str], splits: Splits, where: Origin) -> None:
    """Raise ConfigError for each entry that protects nothing: it would fail silently."""
    problems = Problems()
    ids = [item.id for item in splits.val]
    tags = {tag for item in splits.val for tag in item.tags}
    for entry in entries:
        if entry == "all" or entry in ids:
            continue
        if not entry.startswith(TAG):
            problems.add(where, f"{_KEY}: {entry!r} {_unknown_task(entry, ids, splits)}")
        elif entry.removeprefix(TAG) not in tags:
            problems.add(where, f"{_KEY}: {entry!r} {_unknown_tag(entry, tags)}")
    problems.raise_any(ConfigError)


def _unknown_tag(entry: str, tags: set[str]) -> str:
    if not tags:
        return "is the tag of no val task: none has tags; name tasks by their id"
    return f"is the tag of no val task; {did_you_mean(entry.removeprefix(TAG), tags, 'tags')}"


def _unknown_task(entry: str, ids: Sequence[str], splits: Splits) -> str:
    for split in SPLITS:
        if any(item.id == entry for item in splits.of(split)):
            return f"is a task of {split}; name tasks of val, which is what a gate looks at"
    if any(_has_tag(item, entry) for item in splits.val):
        return f"is the id of no val task; write '{TAG}{entry}' for the tag"
    guess = nearest(entry, ids)
    fix = f"did you mean {guess!r}?" if guess else f"give ids, '{TAG}NAME' or 'all'"
    return f"is the id of no val task; {fix}"


def _has_tag(item: Item, tag: str) -> bool:
    return tag in item.tags
