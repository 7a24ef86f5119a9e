from __future__ import annotations

import math
import random

import pytest

from skillopt.stats.paired import sign_flip_p
from skillopt.stats.power import power_at, smallest_effect


def simulated(items: int, samples: int, level: float, effect: float, baseline: float) -> float:
    """Play 1,500 gates with the test itself."""
    stream = random.Random(99)

    def passes(chance: float) -> int:
        return sum(stream.random() < chance for _ in range(samples))

    accepted = 0
    for _ in range(1_500):
        gains = [passes(baseline + effect) - passes(baseline) for _ in range(items)]
        accepted += sum(gains) > 0 and sign_flip_p(gains) <= level
    return accepted / 1_500


@pytest.mark.parametrize(
    ("items", "samples", "level", "baseline"),
    [
        (12, 1, 0.05, 0.5),
        (30, 2, 0.01, 0.3),
        (40, 3, 0.005, 0.8),
        (100, 5, 0.005, 0.5),
        (150, 1, 0.01, 0.5),
    ],
)
def test_the_effect_found_is_accepted_as_often_as_asked_for(items, samples, level, baseline):
    effect = smallest_effect(items, samples, level, baseline)
    assert effect is not None
    assert simulated(items, samples, level, effect, baseline) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("power", [0.5, 0.9])
def test_other_powers_can_be_asked_for(power):
    effect = smallest_effect(40, 2, 0.01, power=power)
    assert effect is not None
    assert power_at(40, 2, 0.01, effect) == pytest.approx(power, abs=0.005)


def test_without_a_test_the_power_is_that_of_more_passes():
    """Three draws each: the chance of more passes, counted by hand."""
    weights = [math.comb(3, passes) for passes in range(4)]
    more = sum(weights[new] * weights[old] for new in range(4) for old in range(new)) / 64
    assert power_at(3, 1, None, 0.0) == pytest.approx(more)
    assert power_at(1, 3, None, 0.0) == pytest.approx(more)
    assert power_at(3, 1, None, 0.5) == pytest.approx(7 / 8)


def test_no_effect_is_accepted_no_more_often_than_the_level():
    for items, samples in ((40, 1), (60, 3), (200, 5), (2_000, 1)):
        assert power_at(items, samples, 0.05, 0.0) <= 0.06


@pytest.mark.parametrize(("items", "visible"), [(7, False), (8, False), (20, True)])
def test_too_few_items_see_nothing_at_all(items, visible):
    """Eight of eight must differ at this level, and a failing half does not always give them."""
    assert (smallest_effect(items, 1, 0.005) is not None) == visible
    assert smallest_effect(items, 1, 0.005, baseline=1.0) is None


def test_more_items_samples_and_error_show_smaller_effects():
    def effect(items: int, samples: int, level: float | None) -> float:
        found = smallest_effect(items, samples, level)
        assert found is not None
        return found

    assert effect(40, 1, 0.01) > effect(80, 1, 0.01) > effect(300, 1, 0.01) > effect(900, 1, 0.01)
    assert effect(40, 1, 0.01) > effect(40, 2, 0.01) > effect(40, 5, 0.01)
    assert effect(40, 2, 0.001) > effect(40, 2, 0.01) > effect(40, 2, 0.1) > effect(40, 2, None)


def test_simulation_and_approximation_meet():
    """On both sides of the point where one takes over from the other."""
    few, many = smallest_effect(99, 6, 0.005), smallest_effect(100, 6, 0.005)
    assert few is not None
    assert many == pytest.approx(few, rel=0.02)


def test_a_candidate_that_always_passes_is_seen():
    assert power_at(500, 2, 0.005, 0.5) == pytest.approx(1.0)
    assert power_at(200, 200, 0.005, 0.5) == pytest.approx(1.0)


def test_the_same_question_has_the_same_answer():
    assert smallest_effect(33, 2, 0.01) == smallest_effect(33, 2, 0.01)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": 0}, "at least 1, not 0 and 1"),
        ({"samples": 0}, "at least 1, not 5 and 0"),
        ({"level": 0.0}, "level must lie between 0 and 1, not be 0.0"),
        ({"level": 1.0}, "level must lie between 0 and 1, not be 1.0"),
        ({"baseline": 1.5}, "baseline must lie between 0 and 1, not be 1.5"),
        ({"power": 1.0}, "power must lie between 0 and 1, not be 1.0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        smallest_effect(**{"items": 5, "samples": 1, "level": 0.05, **changes})


@pytest.mark.parametrize("effect", [-0.1, 0.6, math.nan])
def test_an_effect_beyond_what_is_possible_is_refused(effect):
    with pytest.raises(ValueError, match="effect must lie between 0 and 1 - baseline"):
        power_at(5, 1, 0.05, effect)
