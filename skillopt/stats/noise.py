"""How far apart several measurements of one document come out.

Whatever differs between them is chance: the noise floor that a real gain has to stand out from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

#: Scores of an item closer than this are equal.
_EQUAL = 1e-9


@dataclass(frozen=True)
class Noise:
    #: Items that have a score in every arm; the rest is left out of all figures.
    items: int
    #: The mean score of each arm.
    means: tuple[float, ...]
    #: Between the highest and the lowest mean.
    spread: float
    #: Of the items: the share whose score is not the same in all arms.
    flipped: float
    #: Of the difference between the means of two arms, from how the items scatter; None with
    #: fewer than two items.
    standard_error: float | None
    #: Ordered pairs of arms, and in how many of them the gate took the one for better.
    comparisons: int
    accepted: int


def noise_of(arms: Sequence[Mapping[str, float]], accepts: Callable[[int, int], bool]) -> Noise:
    """Compare the arms, each a score by item.

    `accepts(candidate, current)` is the gate: whether it accepts the one arm against the other,
    both named by their index. Raises ValueError for fewer than two arms, or if no item has a
    score in all of them.
    """
    if len(arms) < 2:
        raise ValueError(f"noise shows between at least 2 measurements, not {len(arms)!r}")
    common = [item for item in arms[0] if all(item in arm for arm in arms)]
    if not common:
        raise ValueError("no item has a score in every measurement")
    means = tuple(math.fsum(arm[item] for item in common) / len(common) for arm in arms)
    by_item = [[arm[item] for arm in arms] for item in common]
    flipped = sum(max(scores) - min(scores) > _EQUAL for scores in by_item)
    ordered = list(permutations(range(len(arms)), 2))
    return Noise(
        items=len(common),
        means=means,
        spread=max(means) - min(means),
        flipped=flipped / len(common),
        standard_error=_standard_error(by_item),
        comparisons=len(ordered),
        accepted=sum(accepts(candidate, current) for candidate, current in ordered),
    )


def _standard_error(by_item: Sequence[Sequence[float]]) -> float | None:
    """Give the standard error of the difference between two arms' means.

    The squared difference of an item between two arms has twice the item's own variance as its
    mean, because the document is the same; items are independent of each other.
    """
    items = len(by_item)
    if items < 2:
        return None
    squares = [(one - other) ** 2 for scores in by_item for one, other in combinations(scores, 2)]
    pairs = len(squares) / items
    return math.sqrt(math.fsum(squares) / pairs) / items
