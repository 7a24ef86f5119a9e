"""Scores as integers, so that a gate's sums are exact whatever their order.

A unit is so small that the share of up to 16 checks, averaged over the samples, is a whole number
of units; of any other share it loses at most half a unit. The full verdict and the early one
count in the same units, so rounding cannot separate them.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.domain.spec import Evaluation
from skillopt.stats.paired import rounded

#: Divisible by every number up to 16.
_PER_SAMPLE = 720_720
#: Steps from 0 to 1 in which the paired test sees a soft or mixed score.
_SOFT_STEPS = 120


@dataclass(frozen=True)
class ScoreUnits:
    """How a run's gate counts."""

    #: Units from a score of 0 to one of 1.
    full: int
    #: Units of the smallest difference that the paired test tells from none.
    quantum: int

    def difference(self, new: float, old: float) -> int:
        """Give the gain in units; a single unit is rounding, not a gain."""
        found = self._units(new) - self._units(old)
        return found if abs(found) > 1 else 0

    def most_gain(self, old: float) -> int:
        """Give the gain of a candidate that does all that can be done."""
        return self.difference(1.0, old)

    def quanta(self, difference: int) -> int:
        return rounded(difference, self.quantum)

    def _units(self, score: float) -> int:
        return round(score * self.full)


def units_of(settings: Evaluation) -> ScoreUnits:
    full = _PER_SAMPLE * settings.samples
    # A hard score is a number of passes out of the samples: the test loses nothing.
    steps = settings.samples if settings.gate_metric == "hard" else _SOFT_STEPS
    return ScoreUnits(full, full // steps)


def is_a_gain(units: int, items: int) -> bool:
    """Whether a sum of differences is more than the rounding of `items` scores can make up."""
    return units > items
