from __future__ import annotations

import random
import statistics

import pytest

from skillopt.stats.noise import noise_of


def never(candidate: int, current: int) -> bool:
    return False


def test_figures_of_two_arms():
    arms = [{"a": 1.0, "b": 0.0, "c": 1.0, "d": 0.0}, {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}]
    found = noise_of(arms, lambda candidate, current: candidate > current)
    assert found.items == 4
    assert found.means == (0.5, 1.0)
    assert found.spread == 0.5
    assert found.flipped == 0.5
    # Two of four items differ by 1: the variance of the sum is 2, that of the mean 2 / 16.
    assert found.standard_error == pytest.approx((2 / 16) ** 0.5)
    assert (found.comparisons, found.accepted) == (2, 1)


def test_every_ordered_pair_of_arms_is_compared_once():
    asked = []
    arms = [{"a": 1.0}, {"a": 0.0}, {"a": 1.0}]
    found = noise_of(arms, lambda candidate, current: not asked.append((candidate, current)))
    assert sorted(asked) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert (found.comparisons, found.accepted) == (6, 6)


def test_arms_that_agree_show_no_noise():
    found = noise_of([{"a": 1.0, "b": 0.3}] * 3, never)
    assert (found.spread, found.flipped, found.standard_error, found.accepted) == (0, 0, 0, 0)


def test_items_without_a_score_in_some_arm_do_not_count():
    found = noise_of([{"a": 1.0, "b": 0.0}, {"b": 0.0, "c": 1.0}], never)
    assert (found.items, found.means, found.standard_error) == (1, (0.0, 0.0), None)


def test_rounding_is_no_flip():
    assert noise_of([{"a": 0.1 + 0.2}, {"a": 0.3}], never).flipped == 0


def test_the_standard_error_is_that_of_repeated_comparisons():
    """Drawn often enough, the difference between two arms scatters as much as it says."""
    stream = random.Random(4)
    chances = {f"t{n}": stream.random() for n in range(50)}

    def arm() -> dict[str, float]:
        return {name: float(stream.random() < chance) for name, chance in chances.items()}

    def gap() -> float:
        return sum(arm().values()) / 50 - sum(arm().values()) / 50

    drawn = statistics.stdev(gap() for _ in range(2_000))
    found = noise_of([arm() for _ in range(30)], never)
    assert found.standard_error == pytest.approx(drawn, rel=0.1)


def test_one_arm_shows_no_noise():
    with pytest.raises(ValueError, match="at least 2 measurements, not 1"):
        noise_of([{"a": 1.0}], never)


def test_arms_without_a_common_item_cannot_be_compared():
    with pytest.raises(ValueError, match="no item has a score in every measurement"):
        noise_of([{"a": 1.0}, {"b": 1.0}], never)
