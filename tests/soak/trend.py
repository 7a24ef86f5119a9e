"""Whether a measured series is flat, in spite of noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Tolerance:
    """What a series may gain over its second half and still count as flat."""

    share: float
    #: In the unit of the series, for series whose values are small.
    at_least: float


@dataclass(frozen=True)
class Trend:
    name: str
    first: float
    middle: float
    last: float
    #: What it gained over the second half, by a line that outliers do not bend.
    gain: float
    allowed: float

    @property
    def grows(self) -> bool:
        return self.gain > self.allowed


#: Points that are compared with each other; more are first made fewer, each the median of some.
POINTS = 60


def trend(name: str, samples: Sequence[tuple[float, float]], tolerance: Tolerance) -> Trend:
    """Look at samples (time, value). The first half is warming up and decides nothing."""
    if len(samples) < 4:
        raise ValueError(f"series {name!r} has {len(samples)} samples; 4 are needed")
    samples = sorted(samples)
    half = (samples[0][0] + samples[-1][0]) / 2
    late = [sample for sample in samples if sample[0] >= half]
    values = [value for _, value in late]
    level = median(values)
    return Trend(
        name,
        first=samples[0][1],
        middle=values[0],
        last=samples[-1][1],
        gain=_slope(_thinned(late)) * (late[-1][0] - late[0][0]),
        allowed=max(tolerance.share * level, tolerance.at_least),
    )


def verdict(trends: Sequence[Trend]) -> str:
    """Say `flat`, or name what grows."""
    growing = [f"{one.name} (by {one.gain:,.1f})" for one in trends if one.grows]
    return f"grows: {', '.join(growing)}" if growing else "flat"


def series_of(
    samples: Sequence[tuple[float, Mapping[str, float]]],
) -> dict[str, list[tuple[float, float]]]:
    """Turn samples with many values into one series for each; what is missing counts as 0."""
    names = sorted({name for _, values in samples for name in values})
    return {name: [(at, values.get(name, 0.0)) for at, values in samples] for name in names}


def _thinned(samples: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    size = -(-len(samples) // POINTS)
    groups = [samples[first : first + size] for first in range(0, len(samples), size)]
    return [(median(at for at, _ in one), median(value for _, value in one)) for one in groups]


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Give the median slope between any two points (Theil and Sen)."""
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for number, earlier in enumerate(points)
        for later in points[number + 1 :]
        if later[0] > earlier[0]
    ]
    return median(slopes) if slopes else 0.0
