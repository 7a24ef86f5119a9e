"""Seeded random streams, one per purpose, so that no two purposes correlate.

A stream depends only on the run's seed and the words that name it: a resumed run draws the
same numbers as an undisturbed one.
"""

from __future__ import annotations

import random

from skillopt.domain.fingerprint import digest


def stream(seed: int, purpose: str, *parts: str | int) -> random.Random:
    """Give the random stream of one purpose, e.g. ``stream(42, "epoch-plan", 3)``."""
    return random.Random(int(digest([seed, purpose, *parts]), 16))
