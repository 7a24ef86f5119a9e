from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_values import measurement

from skillopt.domain.measurement import Measurement
from skillopt.domain.spec import Evaluation
from skillopt.loop.gate import judge_candidate, score_of
from skillopt.loop.gate_rules import GateRules


def rule(**changes: object) -> Evaluation:
    return Evaluation.model_validate(changes)


def verdict(candidate, current, *, level=None, protected=(), **changes):
    return judge_candidate(
        candidate, current, GateRules(rule(**changes), level, frozenset(protected))
    )


def passing(passed: int, failed: int) -> Measurement:
    scores = [1.0] * passed + [0.0] * failed
    return measurement(**{f"t{index}": score for index, score in enumerate(scores)})


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
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1, "the example must show rounding"
    assert score_of(high, rule()) == score_of(low, rule()), "no order of the tasks is better"
    assert high.hard == low.hard
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
    assert "1 of 2 items have no score with the current document" in found.reason


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


# --- soft scores ------------------------------------------------------------------------------


@pytest.mark.parametrize("checks", [3, 7, 16, 17, 97])
@pytest.mark.parametrize("samples", [1, 3])
def test_a_tie_of_shares_is_a_tie_whatever_the_number_of_checks(checks, samples):
    """One task loses all, others win it back in equal parts: no float sum may call that a gain."""
    parts = {f"t{index}": 1 / checks for index in range(checks)}
    small, none = measurement(whole=0.0, **parts), measurement(whole=1.0, **dict.fromkeys(parts, 0))
    for one, other in ((small, none), (none, small)):
        found = verdict(one, other, gate_metric="soft", samples=samples)
        assert (found.verdict, "stayed" in found.reason) == ("reject", True)


@pytest.mark.parametrize("metric", ["hard", "soft", "mixed"])
def test_the_smallest_real_gain_on_many_tasks_is_seen(metric):
    current = passing(1_000, 1_000)
    better = measurement(
        **{
            **dict.fromkeys(current.items, 1.0),
            **dict.fromkeys(list(current.items)[1_000:], 0.0),
            "t1999": 1.0,
        }
    )
    assert verdict(better, current, gate_metric=metric).verdict == "accept"
    assert verdict(current, better, gate_metric=metric).verdict == "reject"


# --- protected tasks --------------------------------------------------------------------------


def test_a_protected_task_that_got_worse_rejects_and_is_named():
    current, candidate = measurement(a=1.0, b=0.0, c=0.0), measurement(a=0.0, b=1.0, c=1.0)
    found = verdict(candidate, current, protected=["a", "b"])
    assert found.verdict == "reject"
    assert found.reason == (
        "hard rose from 0.333 to 0.667 (2 improved, 1 regressed), but protected tasks got worse: a"
    )
    assert verdict(candidate, current, protected=["b", "c"]).verdict == "accept"


def test_many_protected_tasks_are_counted_not_all_named():
    found = verdict(passing(0, 7), passing(7, 0), protected=[f"t{index}" for index in range(7)])
    assert "t0, t1, t2, t3, t4 and 2 more" in found.reason


def test_part_of_a_protected_task_is_enough_to_reject():
    current, candidate = measurement(a=(1.0, 0.9), b=(0.0, 0.1)), measurement(a=(1.0, 0.8), b=1.0)
    assert verdict(candidate, current, gate_metric="soft", protected=["a"]).verdict == "reject"
    assert verdict(candidate, current, gate_metric="hard", protected=["a"]).verdict == "accept"


def test_an_invalid_protected_task_has_not_got_worse():
    current, candidate = measurement(a=1.0, b=0.0), measurement(a="invalid", b=1.0)
    assert verdict(candidate, current, protected=["a"]).verdict == "accept"


def test_a_protected_task_without_a_result_leaves_the_gate_undecided():
    current = measurement(a=1.0, b=0.0, c=0.0, d=0.0)
    candidate = measurement(a="missing", b=1.0, c=1.0, d=1.0)
    assert verdict(candidate, current, min_coverage=0.5).verdict == "accept"
    found = verdict(candidate, current, min_coverage=0.5, protected=["a"])
    assert (found.verdict, found.reason) == ("indecisive", "protected tasks have no score: a")
    unknown = measurement(a="missing", b=0.0, c=0.0, d=0.0)
    assert verdict(candidate, unknown, min_coverage=0.5, protected=["a"]).verdict == "accept"


# --- the paired test --------------------------------------------------------------------------


def test_a_significant_gain_is_accepted_with_its_figures():
    found = verdict(passing(8, 0), passing(0, 8), level=0.005)
    assert (found.verdict, found.p_value) == ("accept", 2**-8)
    assert found.reason == (
        "hard rose from 0.000 to 1.000 (8 improved, 0 regressed); "
        "p 0.00391 is within this gate's level 0.005"
    )


def test_a_level_that_is_just_reached_is_enough():
    assert verdict(passing(8, 0), passing(0, 8), level=2**-8).verdict == "accept"
    assert verdict(passing(8, 0), passing(0, 8), level=2**-8 - 1e-12).verdict == "underpowered"


def test_a_gain_that_chance_often_brings_is_rejected():
    candidate = measurement(**{f"t{i}": float(i < 6) for i in range(10)})
    current = measurement(**{f"t{i}": float(i >= 6) for i in range(10)})
    found = verdict(candidate, current, level=0.05)
    assert (found.verdict, found.p_value) == ("reject", pytest.approx(386 / 1024))
    assert found.reason == (
        "hard rose from 0.400 to 0.600 (6 improved, 4 regressed), "
        "but p 0.377 is above this gate's level 0.05"
    )


def test_too_few_differing_tasks_are_underpowered_and_the_reason_says_what_it_takes():
    found = verdict(passing(10, 10), passing(7, 13), level=0.005)
    assert (found.verdict, found.p_value) == ("underpowered", 0.125)
    assert found.reason == (
        "hard rose from 0.350 to 0.500 (3 improved, 0 regressed), but only 3 tasks differ: p is "
        "at least 0.125 however they fall, above this gate's level 0.005; at least 8 tasks must "
        "differ: use more val tasks or more samples"
    )
    small = verdict(passing(5, 0), passing(0, 5), level=0.005)
    assert small.verdict == "underpowered"
    assert small.reason.endswith("at least 8 tasks must differ, and val has 5: it needs more tasks")


def test_no_gain_is_a_rejection_with_however_little_power():
    for candidate in (passing(1, 1), passing(0, 2)):
        found = verdict(candidate, passing(1, 1), level=0.005)
        assert (found.verdict, found.p_value) == ("reject", 1.0)


def test_several_samples_count_by_their_number():
    """Two of three samples gained weigh twice as much as one lost."""
    current = measurement(a=0.0, b=1 / 3, c=1 / 3, d=1.0)
    candidate = measurement(a=2 / 3, b=1.0, c=1.0, d=2 / 3)
    # Sums as high as 2 + 2 + 2 - 1: that one, and the one with all signs plus.
    found = verdict(candidate, current, samples=3, level=0.2)
    assert (found.verdict, found.p_value) == ("accept", 2 / 16)


def test_soft_scores_are_tested_too():
    current = measurement(**{f"t{i}": (0.0, 0.2) for i in range(8)})
    candidate = measurement(**{f"t{i}": (0.0, 0.25) for i in range(8)})
    for metric in ("soft", "mixed"):
        found = verdict(candidate, current, gate_metric=metric, level=0.005)
        assert (found.verdict, found.p_value) == ("accept", 2**-8)


def test_protection_holds_against_any_significance():
    current = measurement(x=1.0, **dict.fromkeys("abcdefghij", 0.0))
    candidate = measurement(x=0.0, **dict.fromkeys("abcdefghij", 1.0))
    assert verdict(candidate, current, level=0.05).verdict == "accept"
    assert verdict(candidate, current, level=0.05, protected=["x"]).verdict == "reject"
