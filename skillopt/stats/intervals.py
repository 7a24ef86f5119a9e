"""Confidence intervals of a share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def wilson(successes: float, n: int, confidence: float = 0.95) -> Interval | None:
    """Give Wilson's score interval of `successes` out of `n`; None if nothing was measured.

    Unlike the normal approximation it stays within 0 and 1 and is honest for small `n`.
    `successes` may be a sum of partial scores, for which the interval is rather too wide. Raises
    ValueError for counts or confidence that make no sense.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not be {confidence!r}")
    if n < 0 or not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n, but are {successes!r} of {n!r}")
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / n
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Rounding must not push a bound beyond the share itself: 0 of n begins at 0 exactly.
    return Interval(
        low=min(max(centre - half, 0.0), share),
        high=max(min(centre + half, 1.0), share),
    )
