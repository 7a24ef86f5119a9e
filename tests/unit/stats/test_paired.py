from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.stats.paired import (
    least_p,
    needed_to_differ,
    roughly_p,
    rounded,
    sign_flip_p,
    surely_reaches,
)

DIFFERENCES = st.lists(st.integers(-6, 6), max_size=9)


def by_hand(differences: list[int]) -> float:
    """Try every way in which the signs could have fallen."""
    seen = sum(differences)
    signs = list(product((1, -1), repeat=len(differences)))
    as_high = sum(
        sum(sign * size for sign, size in zip(one, differences, strict=True)) >= seen
        for one in signs
    )
    return as_high / len(signs)


def by_floats(differences: list[int]) -> float:
    """The same by adding up chances, which cannot overflow."""
    lost = -sum(min(0, one) for one in differences)
    chances = [1.0] + [0.0] * lost
    for size in map(abs, differences):
        chances = [
            (chance + (chances[total - size] if total >= size else 0.0)) / 2
            for total, chance in enumerate(chances)
        ]
    return sum(chances)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([], 1.0),
        ([0, 0], 1.0),
        ([1], 0.5),
        ([-1], 1.0),
        ([1, 1, 1, 1, 1], 1 / 32),
        ([1, 1, 1, 1, -1], 6 / 32),
        ([1, -1], 0.75),
        ([3, 3, -1], 2 / 8),
        ([2, 2, 2, -1], 2 / 16),
        ([10, 1, 1], 1 / 8),
        ([-10, 1, 1], 5 / 8),
    ],
)
def test_known_values(differences, expected):
    assert sign_flip_p(differences) == expected


@settings(max_examples=400, deadline=None)
@given(DIFFERENCES)
def test_it_counts_all_ways_in_which_the_signs_could_fall(differences):
    assert sign_flip_p(differences) == by_hand(differences)


@settings(max_examples=200, deadline=None)
@given(DIFFERENCES, st.integers(1, 50), st.randoms(use_true_random=False))
def test_unit_order_and_zeros_do_not_matter(differences, unit, shuffler):
    other = [unit * one for one in differences] + [0, 0]
    shuffler.shuffle(other)
    assert sign_flip_p(other) == sign_flip_p(differences)


@settings(max_examples=200, deadline=None)
@given(DIFFERENCES.filter(bool), st.integers(0, 20), st.data())
def test_a_higher_difference_never_raises_it(differences, more, data):
    at = data.draw(st.integers(0, len(differences) - 1))
    higher = [one + more * (index == at) for index, one in enumerate(differences)]
    assert sign_flip_p(higher) <= sign_flip_p(differences)


@pytest.mark.parametrize(("count", "size"), [(158, 3), (159, 3), (160, 3), (161, 2), (400, 9)])
@pytest.mark.parametrize("lift", [-1, 0, 1])
def test_long_lists_agree_with_a_sum_of_chances(count, size, lift):
    stream = random.Random(count)
    differences = [stream.randint(-size, size) + lift for _ in range(count)]
    assert sign_flip_p(differences) == pytest.approx(by_floats(differences), rel=1e-11)


def test_two_thousand_items_with_all_sorts_of_sizes_can_be_tested():
    stream = random.Random(3)
    none = [stream.randint(-120, 120) for _ in range(2_000)]
    shift = 1 if sum(none) < 0 else -1
    while sum(none):
        at = stream.randrange(len(none))
        none[at] += shift * (abs(none[at] + shift) <= 120)
    assert sign_flip_p(none) == pytest.approx(0.5, abs=0.001)
    assert sign_flip_p([one + 30 for one in none]) < 1e-9


def test_a_clean_sweep_of_many_has_a_value_above_nothing():
    assert sign_flip_p([1] * 1_000) == 2.0**-1_000
    assert sign_flip_p([-1] * 1_000) == 1.0


def test_equal_documents_reach_a_level_no_more_often_than_it_says():
    """4,000 experiments with equal chances: the share at or below a level is at most the level."""
    stream = random.Random(11)
    found = []
    for _ in range(4_000):
        chances = [stream.random() for _ in range(25)]
        new, old = ([sum(stream.random() < c for _ in range(3)) for c in chances] for _ in "ab")
        found.append(sign_flip_p([one - other for one, other in zip(new, old, strict=True)]))
    for level in (0.005, 0.01, 0.05, 0.2, 0.5):
        share = sum(p <= level for p in found) / len(found)
        noise = 3 * (level * (1 - level) / len(found)) ** 0.5
        assert 0.4 * level < share <= level + noise


@pytest.mark.parametrize("quantum", [1, 2, 3, 10])
def test_rounding_treats_both_signs_alike_and_keeps_order(quantum):
    values = range(-40, 41)
    found = [rounded(value, quantum) for value in values]
    assert found == sorted(found)
    assert found == [-one for one in reversed(found)]
    assert all(
        abs(one * quantum - value) <= quantum / 2 for one, value in zip(found, values, strict=True)
    )


@pytest.mark.parametrize("level", [0.9, 0.5, 0.3, 0.25, 0.05, 0.005, 2**-30, 1e-12])
def test_so_many_must_differ_and_no_fewer(level):
    needed = needed_to_differ(level)
    assert sign_flip_p([1] * needed) == least_p(needed) <= level
    assert least_p(needed - 1) > level


@settings(max_examples=300, deadline=None)
@given(DIFFERENCES, st.floats(1e-4, 0.999))
def test_the_cheap_bound_is_right_whenever_it_says_yes(differences, level):
    squares = sum(one * one for one in differences)
    if surely_reaches(level, sum(differences), squares):
        assert sign_flip_p(differences) <= level


def test_the_cheap_bound_says_yes_where_it_is_plain():
    assert surely_reaches(0.01, 20, 20)
    assert not surely_reaches(0.01, 0, 20)
    assert not surely_reaches(0.01, 5, 20)


def test_the_rough_value_is_near_the_exact_one():
    stream = random.Random(5)
    for every in (2, 3, 5, 60):
        differences = [stream.randint(-5, 5) + (at % every == 0) for at in range(60)]
        assert roughly_p(differences) == pytest.approx(sign_flip_p(differences), rel=0.2)
    assert roughly_p([]) == roughly_p([0]) == 1.0
