from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.stats.intervals import Interval, wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Published values of the score interval at 95 %.
        (0, 10, 0.0, 0.2775),
        (1, 10, 0.0179, 0.4042),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_known_intervals(successes, n, low, high):
    interval = wilson(successes, n)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)


def test_nothing_measured_has_no_interval():
    assert wilson(0, 0) is None


def test_the_ends_are_exact_when_all_or_none_succeed():
    assert wilson(0, 3).low == 0.0
    assert wilson(3, 3).high == 1.0


@pytest.mark.parametrize(
    ("successes", "n", "confidence"),
    [(-1, 3, 0.95), (4, 3, 0.95), (1, -1, 0.95), (1, 3, 0.0), (1, 3, 1.0), (float("nan"), 3, 0.95)],
)
def test_impossible_counts_are_refused(successes, n, confidence):
    with pytest.raises(ValueError, match="must lie between"):
        wilson(successes, n, confidence)


@settings(deadline=None)
@given(st.integers(1, 5000), st.floats(0, 1), st.floats(0.5, 0.999))
def test_the_interval_holds_the_share_and_stays_within_bounds(n, share, confidence):
    successes = min(share * n, n)
    interval = wilson(successes, n, confidence)
    assert 0.0 <= interval.low <= successes / n <= interval.high <= 1.0
    assert interval.low < interval.high


@settings(deadline=None)
@given(st.integers(1, 500), st.data())
def test_the_interval_is_symmetric_in_success_and_failure(n, data):
    successes = data.draw(st.integers(0, n))
    one, other = wilson(successes, n), wilson(n - successes, n)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9)


@settings(deadline=None)
@given(st.integers(1, 200), st.data())
def test_more_data_and_less_confidence_narrow_it(n, data):
    successes = data.draw(st.integers(0, n))

    def width(interval: Interval) -> float:
        return interval.high - interval.low

    assert width(wilson(successes * 4, n * 4)) < width(wilson(successes, n))
    assert width(wilson(successes, n, 0.8)) < width(wilson(successes, n, 0.95))
