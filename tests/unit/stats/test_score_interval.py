from __future__ import annotations

import random

import pytest

from skillopt.stats.intervals import wilson
from skillopt.stats.score_interval import effective_n, score_interval


def test_nothing_measured_has_no_interval():
    assert score_interval([], 3) is None


def test_one_sample_each_is_wilsons_interval():
    found, expected = score_interval([1.0, 0.0, 1.0, 1.0], 1), wilson(3, 4)
    assert (found.low, found.high, found.method) == (expected.low, expected.high, "wilson")


def test_samples_that_agree_count_as_one_per_task():
    assert effective_n([1.0, 0.0, 1.0, 0.0], 5) == 4
    found, expected = score_interval([1.0, 0.0, 1.0, 0.0], 5), wilson(2, 4)
    assert (found.low, found.high, found.method) == (
        expected.low, expected.high, "wilson_effective_n",
    )  # fmt: skip


def test_samples_that_do_not_resemble_each_other_count_in_full():
    assert effective_n([0.4, 0.6, 0.5, 0.5, 0.6, 0.4], 5) == 30


def test_a_perfect_score_is_not_surer_for_more_samples():
    assert effective_n([1.0] * 6, 10) == 6


def test_a_score_outside_its_bounds_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        effective_n([0.5, 1.5], 2)


def test_the_interval_holds_the_true_mean_about_as_often_as_it_says():
    """Tasks of different difficulty, several samples of each: 95 % within a few points."""
    chance = random.Random(7)
    held, rounds, samples = 0, 800, 4
    for _ in range(rounds):
        means = []
        for _ in range(25):
            share = chance.betavariate(1.5, 1.0)
            means.append(sum(chance.random() < share for _ in range(samples)) / samples)
        found = score_interval(means, samples)
        held += found.low <= 1.5 / 2.5 <= found.high
    assert 0.92 <= held / rounds <= 0.995
