from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_values import measurement

from skillopt.domain.spec import Evaluation
from skillopt.loop.gate import judge_candidate, score_of


def rule(**changes: object) -> Evaluation:
    return Evaluation.model_validate(changes)


def verdict(candidate, current, **changes):
    return judge_candidate(candidate, current, rule(**changes))


def test_a_strict_improvement_is_accepted():
    found = verdict(measurement(a=1.0, b=1.0), measurement(a=0.0, b=1.0))
    assert (found.verdict, found.candidate, found.current, found.pairs) == ("accept", 1.0, 0.5, 2)
    assert (found.improved, found.regressed) == (("a",), ())
    assert found.reason == "hard rose from 0.500 to 1.000 (1 improved, 0 regressed)"


def test_a_tie_is_rejected():
    found = verdict(measurement(a=1.0, b=0.0), measurement(a=0.0, b=1.0))
    assert found.verdict == "reject"
    assert (found.improved, found.regressed) == (("a",), ("b",))
    assert "stayed" in found.reason


def test_a_fall_is_rejected():
    found = verdict(measurement(a=0.0), measurement(a=1.0))
    assert (found.verdict, found.regressed) == ("reject", ("a",))
    assert "fell" in found.reason


def test_sums_that_differ_by_rounding_only_are_a_tie():
    high = measurement(a=0.1, b=0.2, c=0.3)
    low = measurement(a=0.3, b=0.2, c=0.1)
    assert score_of(high, rule()) != score_of(low, rule()), "the example must show rounding"
    assert verdict(high, low).verdict == verdict(low, high).verdict == "reject"


def test_an_item_invalid_in_one_arm_is_left_out_of_both():
    current = measurement(a=1.0, b=0.0, c=1.0)
    found = verdict(measurement(a="invalid", b=1.0, c=1.0), current)
    assert (found.verdict, found.pairs) == ("accept", 2)
    assert (found.candidate, found.current) == (1.0, 0.5)
    swapped = verdict(current, measurement(a="invalid", b=1.0, c=1.0))
    assert (swapped.verdict, swapped.candidate, swapped.current) == ("reject", 0.5, 1.0)


def test_a_candidate_gains_nothing_by_making_its_failures_invalid():
    current = measurement(a=1.0, b=1.0, c=0.0)
    assert verdict(measurement(a=1.0, b=1.0, c="invalid"), current).verdict == "reject"


def test_a_missing_item_makes_the_gate_indecisive():
    found = verdict(measurement(a=1.0, b="missing"), measurement(a=0.0, b=0.0))
    assert found.verdict == "indecisive"
    assert "1 of 2 items" in found.reason
    assert "50%" in found.reason


@pytest.mark.parametrize(("least", "expected"), [(0.76, "indecisive"), (0.75, "accept")])
def test_coverage_at_the_limit_is_enough(least, expected):
    candidate = measurement(a=1.0, b=1.0, c=1.0, d="missing")
    current = measurement(a=0.0, b=0.0, c=0.0, d=1.0)
    assert verdict(candidate, current, min_coverage=least).verdict == expected


def test_both_arms_are_compared_on_their_common_items_only():
    candidate = measurement(a="missing", b=1.0, c=0.0)
    current = measurement(a=1.0, b="missing", c=0.0)
    found = verdict(candidate, current, min_coverage=0.5)
    assert (found.pairs, found.candidate, found.current) == (1, 0.0, 0.0)
    assert found.verdict == "reject"


def test_too_little_coverage_of_the_current_document_is_indecisive_too():
    found = verdict(measurement(a=1.0, b=1.0), measurement(a=0.0, b="missing"))
    assert found.verdict == "indecisive"


def test_invalid_items_do_not_lower_coverage():
    candidate = measurement(a=1.0, b="invalid", c="invalid")
    assert verdict(candidate, measurement(a=0.0, b=0.0, c=0.0)).verdict == "accept"


def test_no_common_item_while_results_are_missing_is_indecisive_and_says_so():
    candidate = measurement(a="missing", b=1.0)
    current = measurement(a=1.0, b="missing")
    found = verdict(candidate, current, min_coverage=0.5)
    assert found.verdict == "indecisive"
    assert found.reason == "no item has a score for both documents; 1 of 2 have no result yet"


def test_a_candidate_that_no_item_can_be_scored_with_is_rejected():
    """Nothing is missing, so no retry can help: an indecisive gate would stop the run for ever."""
    found = verdict(measurement(a="invalid", b="invalid"), measurement(a=0.0, b=0.0))
    assert (found.verdict, found.candidate, found.pairs) == ("reject", None, 0)
    assert found.reason == "no item has a score for both documents"


@pytest.mark.parametrize(
    ("metric", "expected"), [("hard", "reject"), ("soft", "accept"), ("mixed", "accept")]
)
def test_the_metric_decides_which_score_counts(metric, expected):
    candidate, current = measurement(a=(0.0, 0.9)), measurement(a=(0.0, 0.2))
    assert verdict(candidate, current, gate_metric=metric).verdict == expected


def test_mixed_weighs_soft_by_its_weight():
    rules = rule(gate_metric="mixed", gate_mixed_weight=0.25)
    assert score_of(measurement(a=(1.0, 0.0), b=(0.0, 1.0)), rules) == pytest.approx(0.5)
    assert score_of(measurement(a=(1.0, 0.2)), rules) == pytest.approx(0.8)


def test_nothing_scored_has_no_score():
    assert score_of(measurement(a="invalid", b="missing"), rule()) is None


SCORES = st.lists(
    st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from(["invalid", "missing"])),
    min_size=4,
    max_size=4,
)


@settings(max_examples=200, deadline=None)
@given(new=SCORES, old=SCORES, least=st.sampled_from([0.25, 0.5, 1.0]))
def test_an_accept_is_always_a_gain_on_scored_pairs(new, old, least):
    names = ("a", "b", "c", "d")
    candidate = measurement(**dict(zip(names, new, strict=True)))
    current = measurement(**dict(zip(names, old, strict=True)))
    found = verdict(candidate, current, min_coverage=least)
    pairs = [
        (one, other)
        for one, other in zip(new, old, strict=True)
        if not isinstance(one, str) and not isinstance(other, str)
    ]
    gain = sum(one - other for one, other in pairs)
    assert found.pairs == len(pairs)
    if found.verdict == "accept":
        assert gain > 0
        assert found.improved
    if found.verdict == "reject":
        assert gain <= 0
    assert verdict(candidate, candidate, min_coverage=least).verdict != "accept"
