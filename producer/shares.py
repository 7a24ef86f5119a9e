"""Fair parts of a backend: how many jobs each run may have in flight on it.

What a backend can hold is divided equally between the owners that want something of it, and an
owner's part between their runs by priority. Nobody gets more than they can use, so what one leaves
is for the others. Pure: all coordinators that see the same demands come to the same windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.domain.spec import Priority
from skillopt.state.ports import Demand

#: How much a run counts among the runs of its owner.
WEIGHTS: Final[Mapping[Priority, int]] = {"low": 1, "normal": 2, "high": 4}


@dataclass(frozen=True)
class Claim:
    """One that takes part in a division: its weight, and the most that it can use."""

    weight: int
    most: int


def windows(room: int, demands: Sequence[Demand]) -> dict[str, int]:
    """Divide the room of a backend between runs; demands come in the order of their age.

    Every run that wants something gets at least one job, even if there are more runs than room:
    none ever starves. Only the quota of its owner may leave a run without: one of little weight,
    then the youngest.
    """
    by_owner: dict[str, list[Demand]] = {}
    for demand in demands:
        by_owner.setdefault(demand.owner, []).append(demand)
    claims = [Claim(1, _most_of_owner(own)) for own in by_owner.values()]
    found: dict[str, int] = {}
    for own, part in zip(by_owner.values(), divided(room, claims), strict=True):
        claimed = [Claim(one.weight, _most(one)) for one in own]
        wanting = sum(claim.most > 0 for claim in claimed)
        least = min(wanting, _most_of_owner(own))
        given = _none_left_out(divided(max(part, least), claimed), claimed)
        found |= {one.run: window for one, window in zip(own, given, strict=True)}
    return found


def divided(room: int, claims: Sequence[Claim]) -> list[int]:
    """Divide a number in proportion to weights, where nobody takes more than they can use.

    What is left of whole parts goes one by one to those with the largest remainder, then to those
    who come first.
    """
    given = [0] * len(claims)
    wanting = [n for n, claim in enumerate(claims) if claim.most > 0]
    left = max(0, room)
    while wanting:
        total = sum(claims[n].weight for n in wanting)
        content = [n for n in wanting if claims[n].most * total <= left * claims[n].weight]
        if not content:
            break
        for n in content:
            given[n] = claims[n].most
            left -= claims[n].most
        wanting = [n for n in wanting if n not in content]
    if not wanting:
        return given
    total = sum(claims[n].weight for n in wanting)
    for n in wanting:
        given[n] = left * claims[n].weight // total
    rest = left - sum(given[n] for n in wanting)
    by_remainder = sorted(wanting, key=lambda n: (-(left * claims[n].weight % total), n))
    for n in by_remainder[:rest]:
        given[n] += 1
    return given


def _most(demand: Demand) -> int:
    wanted = max(0, demand.wanted)
    return wanted if demand.window is None else min(wanted, demand.window)


def _most_of_owner(demands: Sequence[Demand]) -> int:
    total = sum(_most(demand) for demand in demands)
    quota = demands[0].owner_window
    return total if quota is None else min(total, quota)


def _none_left_out(given: list[int], claims: Sequence[Claim]) -> list[int]:
    """Take from whoever has most, the youngest first, for those that got nothing."""
    for n, claim in enumerate(claims):
        richest = max(range(len(given)), key=lambda m: (given[m], m))
        if given[n] == 0 and claim.most > 0 and given[richest] > 1:
            given[richest] -= 1
            given[n] += 1
    return given
