from __future__ import annotations

import pytest

from skillopt.domain.item import Check, RuleJudge
from skillopt.judges import validate_judge
from skillopt.judges.pattern_size import calls_itself, written_out


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("abc", 3),
        (r"\d{4}-\d{2}-\d{2}", 10),
        ("a{3,}b{2,5}c?d*e+", 8),
        ("[a-z{9}]{2}[]x]{3}", 5),
        ("(?:ab|cd){10}", 50),
        ("((a{10}){10}){10}", 1000),
        ("(a{0}){50}", 50),
        (r"\({100}", 100),
        ("a{x}{,3}", 8),
        ("", 0),
        (")))(((", 3),
        ("[", 1),
        ("\\", 1),
    ],
)
def test_repeats_are_written_out(pattern, size):
    assert written_out(pattern) == size


@pytest.mark.parametrize(
    "pattern",
    ["(?:(?:a{1000}){1000}){1000}", "(?:(?:a{0}){9999}){9999}", "a{999999999}", r"(\w{300}){300}"],
)
def test_an_expression_that_would_take_all_memory_is_refused(pattern):
    judge = RuleJudge(checks=(Check(op="regex", arg=pattern),))
    (problem,) = validate_judge(judge)
    assert "written out, its repeats come to more than 50000 characters" in problem


def test_many_small_repeats_are_fine():
    judge = RuleJudge(checks=(Check(op="regex", arg=r"\d{100}" * 20),))
    assert validate_judge(judge) == []


@pytest.mark.parametrize("pattern", ["(?R)", "a(?1)?b", "(a(?1)?b)", "(?<x>a(?&x)?)", "(?P>x)"])
def test_an_expression_that_calls_itself_is_refused(pattern):
    assert calls_itself(pattern)
    (problem,) = validate_judge(RuleJudge(checks=(Check(op="regex", arg=pattern),)))
    assert "it calls a group of its own again" in problem


@pytest.mark.parametrize(
    "pattern", [r"\(?R\)", "[(?R)]", "(?:R)", "(?i)R", "(?P<x>a)(?P=x)", "(?=a)", r"(a)\1"]
)
def test_other_groups_are_no_calls(pattern):
    assert not calls_itself(pattern)
    assert validate_judge(RuleJudge(checks=(Check(op="regex", arg=pattern),))) == []
