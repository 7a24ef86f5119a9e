from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.spec import Optimizer
from skillopt.loop.schedule import edit_budget


def optimizer(scheduler: str, high: int, low: int) -> Optimizer:
    return Optimizer.model_validate(
        {"learning_rate": high, "min_learning_rate": low, "lr_scheduler": scheduler}
    )


def budgets(scheduler: str, high: int, low: int, total: int) -> list[int]:
    settings = optimizer(scheduler, high, low)
    return [edit_budget(settings, step, total) for step in range(1, total + 1)]


def test_constant_is_the_learning_rate_at_every_step():
    assert budgets("constant", 5, 1, 4) == [5, 5, 5, 5]


def test_linear_falls_by_equal_parts_and_ends_at_the_minimum():
    assert budgets("linear", 8, 0, 4) == [6, 4, 2, 0]


def test_cosine_falls_slowly_then_fast_then_slowly():
    assert budgets("cosine", 8, 0, 4) == [7, 4, 1, 0]


@pytest.mark.parametrize(
    ("scheduler", "high", "low", "expected"),
    [
        ("linear", 4, 2, [4, 3, 2, 2]),
        ("linear", 5, 2, [4, 4, 3, 2]),
        ("linear", 6, 1, [5, 4, 2, 1]),
        ("cosine", 4, 2, [4, 3, 2, 2]),
        ("cosine", 5, 2, [5, 4, 2, 2]),
        ("cosine", 9, 2, [8, 6, 3, 2]),
    ],
)
def test_budgets_of_four_steps_halves_rounded_to_even(scheduler, high, low, expected):
    assert budgets(scheduler, high, low, 4) == expected


@pytest.mark.parametrize("scheduler", ["constant", "linear", "cosine"])
def test_without_control_or_with_whole_rewrites_there_is_no_limit(scheduler):
    for key, value in (
        ("lr_control_mode", "none"),
        ("skill_update_mode", "full_rewrite_minibatch"),
    ):
        settings = Optimizer.model_validate({key: value, "lr_scheduler": scheduler})
        assert [edit_budget(settings, step, 4) for step in (1, 4)] == [None, None]


@pytest.mark.parametrize("mode", ["fixed", "autonomous"])
def test_an_autonomous_run_has_the_scheduled_budget_to_fall_back_on(mode):
    settings = Optimizer.model_validate(
        {"lr_control_mode": mode, "learning_rate": 8, "min_learning_rate": 0}
    )
    assert [edit_budget(settings, step, 4) for step in range(1, 5)] == [7, 4, 1, 0]


def test_the_first_step_is_already_lowered():
    assert edit_budget(optimizer("linear", 10, 0), 1, 2) == 5


@pytest.mark.parametrize("scheduler", ["constant", "linear", "cosine"])
def test_a_run_of_one_step_gets_the_whole_learning_rate(scheduler):
    assert budgets(scheduler, 4, 2, 1) == [4]


@pytest.mark.parametrize("scheduler", ["constant", "linear", "cosine"])
def test_zero_means_zero(scheduler):
    assert budgets(scheduler, 0, 0, 3) == [0, 0, 0]


@pytest.mark.parametrize("scheduler", ["linear", "cosine"])
def test_a_step_beyond_the_last_one_keeps_the_minimum(scheduler):
    assert edit_budget(optimizer(scheduler, 9, 3), 99, 10) == 3


@settings(max_examples=200, deadline=None)
@given(
    low=st.integers(0, 20),
    span=st.integers(0, 20),
    total=st.integers(2, 60),
    step=st.integers(1, 80),
)
def test_budgets_follow_their_formulas(low, span, total, step):
    high, share = low + span, Fraction(min(step, total), total)
    assert edit_budget(optimizer("constant", high, low), step, total) == high
    linear = high + (low - high) * share
    assert abs(edit_budget(optimizer("linear", high, low), step, total) - linear) <= 0.5
    cosine = low + (high - low) * (1 + math.cos(math.pi * share)) / 2
    assert abs(edit_budget(optimizer("cosine", high, low), step, total) - cosine) <= 0.5 + 1e-9


@settings(max_examples=100, deadline=None)
@given(
    scheduler=st.sampled_from(["constant", "linear", "cosine"]),
    low=st.integers(0, 9),
    span=st.integers(0, 9),
    total=st.integers(1, 40),
)
def test_budgets_never_rise_and_stay_between_their_bounds(scheduler, low, span, total):
    found = budgets(scheduler, low + span, low, total)
    assert found == sorted(found, reverse=True)
    assert all(low <= budget <= low + span for budget in found)


def test_a_budget_depends_on_the_step_alone_not_on_what_was_asked_before():
    settings = optimizer("cosine", 9, 1)
    forward = [edit_budget(settings, step, 7) for step in range(1, 8)]
    backward = [edit_budget(settings, step, 7) for step in range(7, 0, -1)]
    assert forward == backward[::-1]
