"""Dividing tasks into train, val and test, the same way wherever the records stood."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillopt.config.items import PlacedItem
from skillopt.config.origins import Problems
from skillopt.domain.item import SPLITS, SplitName
from skillopt.domain.seeds import stream
from skillopt.errors import ConfigError

Placed = dict[SplitName, list[PlacedItem]]
_RATIO = re.compile(r"[0-9]{1,6}(:[0-9]{1,6})+\Z")


def parse_ratio(text: str, parts: int) -> tuple[int, ...]:
    """Read "2:1" or "2:1:1"; raises ConfigError without saying where it was written."""
    example = "2:1" if parts == 2 else "2:1:1"
    order = ":".join(SPLITS[:parts])
    numbers = tuple(int(part) for part in text.split(":")) if _RATIO.match(text) else ()
    if len(numbers) != parts:
        why = "; test is held-out.jsonl" if parts == 2 and len(numbers) == 3 else ""
        raise ConfigError(
            f"split.ratio: {text!r} does not fit here; give {parts} whole numbers for {order}, "
            f'e.g. "{example}"{why}'
        )
    if sum(numbers) == 0:
        raise ConfigError(f'split.ratio: {text!r} adds up to nothing; give e.g. "{example}"')
    return numbers


def share(count: int, weights: Sequence[int]) -> list[int]:
    """Cut `count` by weights, whole numbers, by largest remainder (ties: the larger weight)."""
    total = sum(weights)
    counts = [count * weight // total for weight in weights]
    by_remainder = sorted(
        range(len(weights)),
        key=lambda place: (-(count * weights[place] % total), -weights[place], place),
    )
    for place in by_remainder[: count - sum(counts)]:
        counts[place] += 1
    return counts


def seeded_order(items: Sequence[PlacedItem], seed: int, *names: str) -> list[PlacedItem]:
    """Shuffle items by the seed and their content, so that their order in files is no matter."""
    ordered = sorted(items, key=lambda placed: (placed.item.content_hash, placed.item.id))
    stream(seed, "split", *names).shuffle(ordered)
    return ordered


def divide(items: Sequence[PlacedItem], weights: Sequence[int], seed: int) -> Placed:
    """Divide items by weights of train, val (and test)."""
    ordered = seeded_order(items, seed)
    placed: Placed = {split: [] for split in SPLITS}
    start = 0
    for split, count in zip(SPLITS, share(len(ordered), weights), strict=False):
        placed[split] = ordered[start : start + count]
        start += count
    return placed


def report_overlaps(placed: Placed, problems: Problems) -> list[str]:
    """Add a problem for each id used twice, and each task that is in two splits.

    Gives a warning for each task that is twice in one split, where it counts twice, and for each
    prompt that another split has too, judged otherwise.
    """
    warnings = []
    by_id: dict[str, PlacedItem] = {}
    by_prompt: dict[str, tuple[SplitName, PlacedItem]] = {}
    for split in SPLITS:
        for entry in placed[split]:
            item = entry.item
            first = by_id.setdefault(item.id, entry)
            if first is not entry:
                problems.add(
                    entry.where,
                    f"task {item.id!r} is also in {first.where}; give each task its own id",
                )
                continue
            other_split, other = by_prompt.setdefault(item.prompt.hash, (split, entry))
            if other is entry:
                continue
            same = f"as task {other.item.id!r} of {other_split} ({other.where})"
            this = f"task {item.id!r} of {split}"
            if other.item.content_hash != item.content_hash:
                if other_split != split:
                    warnings.append(f"{entry.where}: {this} asks the same {same}, judged otherwise")
            elif other_split != split:
                problems.add(
                    entry.where,
                    f"{this} has the same content {same}; remove one, the splits must be disjoint",
                )
            else:
                warnings.append(
                    f"{entry.where}: {this} has the same content {same}; it counts twice"
                )
    return warnings
