"""What a gate can see: how likely it accepts a candidate that is better by a given amount.

The model: every item passes with probability `baseline` under the current document and with
`baseline + effect` under the candidate, independently, each drawn `samples` times. Items that
differ in difficulty make real gates a little sharper than this, since difficult and easy ones
scatter less.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import sub
from statistics import NormalDist

from skillopt.stats.paired import sign_flip_p, surely_reaches

#: Simulated gates behind a figure: its power is known to about one percentage point.
_GATES = 2_000
#: No more draws than this in all, so that many items do not take minutes.
_DRAWS = 500_000
#: With so many items that scatter so much (the variance of the number of passes) the approximation
#: is as good as a simulation, and faster.
_MANY_ITEMS, _MUCH_SCATTER = 100, 125
#: An effect is given to this precision.
_STEP = 1 / 16384
_SEED = 7_919


def power_at(
    items: int, samples: int, level: float | None, effect: float, baseline: float = 0.5
) -> float:
    """Give the chance that the gate accepts a candidate that is better by `effect`.

    `level` is that of the paired test; None accepts any gain of the mean. Raises ValueError for
    numbers that make no sense.
    """
    return _gates(items, samples, level, baseline).power(_checked(effect, baseline))


def smallest_effect(
    items: int,
    samples: int,
    level: float | None,
    baseline: float = 0.5,
    power: float = 0.8,
) -> float | None:
    """Give the smallest gain of the pass rate that the gate accepts with the given power.

    None if not even a candidate that always passes is accepted that often. Raises ValueError for
    numbers that make no sense.
    """
    if not 0 < power < 1:
        raise ValueError(f"power must lie between 0 and 1, not be {power!r}")
    gates = _gates(items, samples, level, baseline)
    high = 1 - baseline
    if gates.power(high) < power:
        return None
    low = 0.0
    while high - low > _STEP:
        middle = (low + high) / 2
        if gates.power(middle) < power:
            low = middle
        else:
            high = middle
    return high


def _checked(effect: float, baseline: float) -> float:
    if not 0 <= effect <= 1 - baseline:
        raise ValueError(f"effect must lie between 0 and 1 - baseline, not be {effect!r}")
    return effect


@dataclass(frozen=True)
class _Strict:
    """The gate without a test, exactly: more passes than the current document."""

    draws: int
    baseline: float

    def power(self, effect: float) -> float:
        below, total = 0.0, 0.0
        old = _binomial(self.draws, self.baseline)
        for passes, chance in enumerate(_binomial(self.draws, self.baseline + effect)):
            total += chance * below
            below += old[passes]
        return min(total, 1.0)


@dataclass(frozen=True)
class _Approximate:
    """The test on many items and samples, by the non-central t distribution.

    A sum of flipped differences is nearly normal; its excess kurtosis and the distance between
    its values are corrected for.
    """

    items: int
    samples: int
    level: float
    baseline: float

    def power(self, effect: float) -> float:
        old, new, gain = self.baseline, self.baseline + effect, self.samples * effect
        old_variance, new_variance = (self.samples * p * (1 - p) for p in (old, new))
        variance = old_variance + new_variance
        skew = new_variance * (1 - 2 * new) - old_variance * (1 - 2 * old)
        fourth = 3 * variance**2 + sum(
            v * (1 - 6 * p * (1 - p)) for v, p in ((old_variance, old), (new_variance, new))
        )
        square = variance + gain**2
        fourth += 4 * gain * skew + 6 * gain**2 * variance + gain**4
        bound = NormalDist().inv_cdf(1 - self.level)
        bound -= (bound**3 - 3 * bound) * fourth / (12 * self.items * square**2)
        bound += 1 / math.sqrt(self.items * square)
        if bound**2 >= self.items:
            return 0.0
        if variance == 0:
            return float(gain > 0)
        freedom = self.items - 1
        t = bound * math.sqrt(freedom / (self.items - bound**2))
        shift = gain * math.sqrt(self.items / variance)
        spread = math.sqrt(1 + t**2 / (2 * freedom))
        return NormalDist().cdf((shift - t * (1 - 1 / (4 * freedom))) / spread)


class _Simulated:
    """Gates that were played through with fixed random numbers.

    The numbers are the same for every effect, so a gate that accepts one effect accepts every
    larger one: what is known of a gate is never asked again.
    """

    def __init__(self, items: int, samples: int, level: float, baseline: float) -> None:
        self._samples, self._level, self._baseline = samples, level, baseline
        stream = random.Random(_SEED)
        chances = _cumulated(samples, baseline)
        draw = stream.random
        gates = min(_GATES, max(1, _DRAWS // items))
        self._old = [[bisect_right(chances, draw()) for _ in range(items)] for _ in range(gates)]
        self._luck = [[draw() for _ in range(items)] for _ in range(gates)]
        #: Of each gate: the largest effect known to fail, the smallest known to pass.
        self._fails = [-1.0] * gates
        self._passes = [math.inf] * gates

    def power(self, effect: float) -> float:
        chances = _cumulated(self._samples, self._baseline + effect)
        for gate in range(len(self._old)):
            if self._fails[gate] < effect < self._passes[gate]:
                if self._accepts(gate, chances):
                    self._passes[gate] = effect
                else:
                    self._fails[gate] = effect
        return sum(least <= effect for least in self._passes) / len(self._passes)

    def _accepts(self, gate: int, chances: Sequence[float]) -> bool:
        new = [bisect_right(chances, luck) for luck in self._luck[gate]]
        gains = list(map(sub, new, self._old[gate]))
        total = sum(gains)
        if total <= 0:
            return False
        if surely_reaches(self._level, total, sum(gain * gain for gain in gains)):
            return True
        return sign_flip_p(gains) <= self._level


def _gates(
    items: int, samples: int, level: float | None, baseline: float
) -> _Strict | _Approximate | _Simulated:
    if items < 1 or samples < 1:
        raise ValueError(f"items and samples must be at least 1, not {items!r} and {samples!r}")
    if not 0 <= baseline <= 1:
        raise ValueError(f"baseline must lie between 0 and 1, not be {baseline!r}")
    if level is None:
        return _Strict(items * samples, baseline)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not be {level!r}")
    scatter = items * samples * baseline * (1 - baseline)
    many = items >= _MANY_ITEMS and scatter >= _MUCH_SCATTER
    return (_Approximate if many else _Simulated)(items, samples, level, baseline)


def _binomial(draws: int, chance: float) -> list[float]:
    """Give the chance of each number of passes."""
    if chance <= 0 or chance >= 1:
        sure = draws if chance >= 1 else 0
        return [float(passes == sure) for passes in range(draws + 1)]
    log_pass, log_fail = math.log(chance), math.log1p(-chance)
    whole = math.lgamma(draws + 1)
    return [
        math.exp(
            whole
            - math.lgamma(passes + 1)
            - math.lgamma(draws - passes + 1)
            + passes * log_pass
            + (draws - passes) * log_fail
        )
        for passes in range(draws + 1)
    ]


def _cumulated(draws: int, chance: float) -> list[float]:
    """Give the bounds between the numbers of passes: a random number falls between two."""
    return list(accumulate(_binomial(draws, chance)))[:-1]
