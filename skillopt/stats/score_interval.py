"""The interval of a mean score over tasks, also where each task has several samples.

Samples of one task resemble each other, so they are not as many observations as there are
samples. They count as what the spread between tasks shows them to be worth: at least one per task
(all samples of a task alike), at most one per sample (no resemblance). Wilson's interval is then
taken with that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Literal

from skillopt.stats.intervals import wilson

#: "wilson_effective_n": with the number of observations that the samples are worth.
IntervalMethod = Literal["wilson", "wilson_effective_n"]


@dataclass(frozen=True)
class ScoreInterval:
    low: float
    high: float
    method: IntervalMethod


def score_interval(means: Sequence[float], samples: int) -> ScoreInterval | None:
    """Give the 95 % interval of the mean of task means, each over `samples` samples.

    None if nothing was measured. Raises ValueError for a mean outside 0 and 1.
    """
    if not means:
        return None
    n = effective_n(means, samples)
    found = wilson(min(max(fmean(means), 0.0), 1.0) * n, n)
    if found is None:
        return None
    return ScoreInterval(found.low, found.high, "wilson" if samples == 1 else "wilson_effective_n")


def effective_n(means: Sequence[float], samples: int) -> int:
    """Give how many independent observations the samples of some tasks are worth."""
    if any(not 0 <= value <= 1 for value in means):
        raise ValueError(f"scores must lie between 0 and 1, but are {list(means)!r}")
    n, mean = len(means), fmean(means)
    between = variance(means) if n > 1 else 0.0
    if samples == 1 or between == 0:
        return n
    return max(n, min(n * samples, int(mean * (1 - mean) * n / between)))
