"""Deciding a gate early, without a chance of deciding it otherwise than with all results.

Only a rejection comes early: an accepted candidate becomes current, and its whole measurement is
what the next one is compared with. It is certain once no result of the open items could lead to
any other verdict. Raising a score never harms a candidate, so it is enough to look at two futures:
the best one, and with `significance` the one with the fewest differing tasks that still brings a
gain, which might end as underpowered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from skillopt.domain.item import Item
from skillopt.domain.measurement import Measurement
from skillopt.domain.run import RunState
from skillopt.loop.gate import Opinion, compare, scores, worse_protected
from skillopt.loop.gate_rules import GateRules
from skillopt.loop.score_units import ScoreUnits, is_a_gain, units_of
from skillopt.stats.paired import least_p, roughly_p, sign_flip_p, surely_reaches

#: The test of the best future must miss the level by this share: more than floats are off by.
_MARGIN = 1e-9
_Test = Callable[[Sequence[int]], float]


def gate_order(state: RunState) -> tuple[Item, ...]:
    """Give the val items in the order in which a gate looks at them.

    First those that are left out, which nothing is wanted for; then those whose score varied most
    between the documents measured so far; of equal ones those on which most can be gained; else
    as in the file. Known before the gate begins, so that no result can change it.
    """
    settings = state.plan.settings.evaluation
    units = units_of(settings)
    measured = [
        scores(one, settings) for (_, split), one in state.measured.items() if split == "val"
    ]
    now = state.measured.get((state.current, "val"))
    current = scores(now, settings) if now else {}

    def rank(item: Item) -> tuple[bool, Fraction, int]:
        seen = [units.difference(known[item.id], 0.0) for known in measured if item.id in known]
        gain = units.most_gain(current[item.id]) if item.id in current else 0
        return item.id not in state.left_out, -_variance(seen), -gain

    return tuple(sorted(state.plan.splits.val, key=rank))


def deciding_prefix(measured: Measurement, current: Measurement, rules: GateRules) -> int | None:
    """Give the number of items, the fewest possible, after which the candidate is rejected
    whatever the others bring; None if that is not certain yet.

    `measured` holds the complete items at the head of the gate's order; the items of `current`
    that it does not have are open. More of them give the same number: what is certain stays so.
    """
    if current.completeness < rules.settings.min_coverage:
        return None  # the gate cannot decide at all
    race, known = _Race.of(measured, current, rules), len(measured.items)
    if not race.lost_after(known):
        return None
    guess = bisect_left(range(known), True, key=race.seems_lost_after)
    return _first(known, guess, race.lost_after)


def early_opinion(part: Measurement, current: Measurement, rules: GateRules) -> Opinion:
    """Say why a candidate is rejected after the items of `part`, which decide it."""
    found = compare(part, current, rules.settings)
    done, items = len(part.items), len(current.items)
    why = _Race.of(part, current, rules).why_lost_after(done)
    reason = f"cannot be accepted any more after {done} of {items} tasks: {why}"
    return found.opinion("reject", reason)


@dataclass(frozen=True)
class _Race:
    """A candidate on its way through the items: what it has gained, and what it still can."""

    rules: GateRules
    units: ScoreUnits
    items: int
    order: tuple[str, ...]
    #: In the order of the items, 0 where there is no pair.
    gained: tuple[int, ...]
    possible: tuple[int, ...]
    #: Of the items that nothing is known of yet.
    open_gains: tuple[int, ...]

    @classmethod
    def of(cls, measured: Measurement, current: Measurement, rules: GateRules) -> _Race:
        units = units_of(rules.settings)
        differences = compare(measured, current, rules.settings).differences
        old = scores(current, rules.settings)
        most = {item: units.most_gain(score) for item, score in old.items()}
        return cls(
            rules,
            units,
            len(current.items),
            tuple(measured.items),
            tuple(differences.get(item, 0) for item in measured.items),
            tuple(most.get(item, 0) for item in measured.items),
            tuple(gain for item, gain in most.items() if item not in measured.items),
        )

    def lost_after(self, done: int) -> bool:
        return bool(self.why_lost_after(done, sign_flip_p))

    def seems_lost_after(self, done: int) -> bool:
        """Say the same at a glance, and nearly always rightly."""
        return bool(self.why_lost_after(done, roughly_p))

    def why_lost_after(self, done: int, test: _Test = sign_flip_p) -> str:
        """Say why rejection is certain after the first `done` items; "" if it is not."""
        worse = worse_protected(self._regressed(done), self.rules)
        if worse:
            return worse
        left = self._open(done)
        full_marks = f"even with full marks on the other {self.items - done}"
        if not is_a_gain(sum(self.gained[:done]) + sum(left), self.items):
            return f"{full_marks} the mean {self.rules.settings.gate_metric} would not rise"
        level = self.rules.level
        if level is None or self._may_be_underpowered(done, left, level):
            return ""
        p_value = self._best_p(done, left, level, test)
        if p_value <= level * (1 + _MARGIN):
            return ""
        return f"{full_marks} p would be {p_value:.3g}, above this gate's level {level:.3g}"

    def _regressed(self, done: int) -> list[str]:
        pairs = zip(self.order[:done], self.gained[:done], strict=True)
        return [item for item, gain in pairs if gain < 0]

    def _open(self, done: int) -> list[int]:
        return [gain for gain in (*self.possible[done:], *self.open_gains) if gain]

    def _may_be_underpowered(self, done: int, left: Sequence[int], level: float) -> bool:
        """Whether a gain is possible with so few differing tasks that no test could pass it."""
        total = sum(self.gained[:done])
        differing = sum(gain != 0 for gain in self.gained[:done])
        for gain in sorted(left, reverse=True):
            if is_a_gain(total, self.items):
                break
            total += gain
            differing += 1
        return least_p(differing) > level

    def _best_p(self, done: int, left: Sequence[int], level: float, test: _Test) -> float:
        """Give p if all open items are won in full, or 0 if it is within the level for sure."""
        quanta = [self.units.quanta(gain) for gain in (*self.gained[:done], *left)]
        if surely_reaches(level, sum(quanta), sum(one * one for one in quanta)):
            return 0.0
        return test(quanta)


def _variance(values: Sequence[int]) -> Fraction:
    if not values:
        return Fraction(0)
    count, total = len(values), sum(values)
    return Fraction(count * sum(one * one for one in values) - total * total, count * count)


def _first(last: int, guess: int, is_so: Callable[[int], bool]) -> int:
    """Give the first number that is so, where all after it are and `last` is.

    Looks next to the guess first: the paired test of many items takes long.
    """
    low, high, at, step = 0, last, guess, 1
    while low < high:
        at = at if low <= at < high else (low + high) // 2
        if is_so(at):
            high, at = at, at - step
        else:
            low, at = at + 1, at + step
        step *= 2
    return low
