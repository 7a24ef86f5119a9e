from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.item import Check, RuleJudge
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.judges import judge, judge_versions, validate_judge

LONG_APOLOGY = "I'm sorry, but I can't keep this short. " + "Here is the work. " * 40


def rule(*checks: tuple[str, object]) -> RuleJudge:
    return RuleJudge(checks=tuple(Check(op=op, arg=arg) for op, arg in checks))


def scored(rules: RuleJudge, text: str, **more: object) -> JudgementBody:
    body = judge(rules, ReplyBody(text=text, **more))
    assert isinstance(body, JudgementBody)
    return body


PASSING_AND_FAILING = [
    ("max_chars", 5, "12345", "123456"),
    ("max_chars", " 5 ", "12345", "123456"),
    ("min_chars", 5, "12345", "1234"),
    ("contains", "key risks", "## Key Risks", "## Risks"),
    ("contains", 42, "it is 42", "it is 24"),
    ("contains", "a{0}b", "xA{0}B", "ab"),
    ("not_contains", "Sorry", "fine", "so SORRY"),
    ("regex", r"[Cc]onfidence\s*[:=]", "Confidence : high", "CONFIDENCE: high"),
    ("regex", "^b$", "b", "a\nb"),
    ("section_present", "Key Risks", "# The key risks\nnone", "# Key Risks of it\nnone"),
    ("section_present", "Key Risks", "## Key Risks ##", "##Key Risks"),
    ("section_present", "Key Risks", "   ###### **Key Risks:**", "    # Key Risks"),
    ("section_present", "Key Risks", "a\n**The Key Risks here**\nb", "see **Key Risks** here"),
    ("section_present", "Key Risks", "__Key Risks__:", "**one** Key Risks **two**"),
    ("section_present", "Key Risks", "KEY RISKS: none", "the Key Risks: none"),
    ("section_present", "## Key Risks", "## Key Risks", "## Key Gains"),
    ("section_present", "C#", "## About C#", "## About C"),
    ("section_contains", "risk", "## All RISKS here", "**Risk**\nrisk: x"),
    ("no_refusal", None, "Here it is.", "I can't help with that."),
    ("no_refusal", None, LONG_APOLOGY, "**I\u2019m sorry, but I can\u2019t do that.**"),
    ("no_refusal", None, "I cannothing", "> _I cannot_"),
    ("no_refusal", None, "Sorry state of affairs: a brief", "Sorry. I won't do that"),
    ("no_refusal", None, "An email: I'm sorry, but we are late", "As an AI, I have no view"),
]


@pytest.mark.parametrize(("op", "arg", "passing", "failing"), PASSING_AND_FAILING)
def test_each_operation_holds_for_one_text_and_fails_for_another(op, arg, passing, failing):
    rules = rule((op, arg))
    assert scored(rules, passing).hard == 1.0
    assert scored(rules, failing).hard == 0.0


@pytest.mark.parametrize(
    ("op", "arg", "name", "requirement"),
    [
        ("contains", "X y", "contains=X y", 'the answer contains "X y"'),
        ("not_contains", "X", "not_contains=X", 'the answer does not contain "X"'),
        ("regex", "a{2}", "regex=a{2}", "the answer matches the regular expression /a{2}/"),
        ("section_present", "X", "section_present=X", 'the answer has a section headed "X"'),
        ("section_contains", "X", "section_contains=X", 'a heading of the answer contains "X"'),
        ("max_chars", "010", "max_chars=10", "the answer is at most 10 characters long"),
        ("min_chars", 10, "min_chars=10", "the answer is at least 10 characters long"),
        ("no_refusal", None, "no_refusal", "the answer does the task instead of refusing it"),
        ("tool_called", "X", "tool_called=X", 'the tool "X" is called'),
    ],
)
def test_criteria_are_worded_exactly_as_analysts_and_the_simulator_expect(
    op, arg, name, requirement
):
    [criterion] = scored(rule((op, arg)), "some text").criteria
    assert (criterion.name, criterion.requirement) == (name, requirement)


def test_hard_needs_every_check_and_soft_is_the_share_that_holds():
    rules = rule(("contains", "a"), ("contains", "b"), ("contains", "c"), ("max_chars", 2))
    body = scored(rules, "a b")
    assert (body.hard, body.soft) == (0.0, 0.5)
    assert [criterion.passed for criterion in body.criteria] == [True, True, False, False]


def test_feedback_lists_failing_checks_with_what_was_found_and_nothing_else():
    body = scored(rule(("contains", "yes"), ("max_chars", 3), ("section_present", "B")), "# A yes")
    assert body.feedback.splitlines() == [
        "- failed: the answer is at most 3 characters long (it has 7 characters)",
        '- failed: the answer has a section headed "B" (its headings are "A yes")',
    ]
    assert scored(rule(("contains", "yes")), "yes").feedback == ""


def test_a_tool_counts_only_when_its_call_was_observed():
    rules = rule(("tool_called", "Search"))
    assert scored(rules, "done", tools_called=("lookup", "search")).hard == 1.0
    claimed = scored(rules, "TOOL_CALL: search")
    assert claimed.hard == 0.0
    assert claimed.criteria[0].detail == "no tool was called"


@pytest.mark.parametrize(
    ("text", "finish_reason", "why"),
    [
        ("", "stop", "the answer is empty"),
        (" \n\t", "length", "the answer is empty"),
        ("a fine text", "refusal", "the model refused to answer"),
    ],
)
def test_a_reply_that_is_no_answer_fails_every_check(text, finish_reason, why):
    rules = rule(("max_chars", 100), ("not_contains", "x"), ("min_chars", 0), ("no_refusal", None))
    body = scored(rules, text, finish_reason=finish_reason)
    assert (body.hard, body.soft) == (0.0, 0.0)
    assert not any(criterion.passed for criterion in body.criteria)
    assert body.feedback.startswith(why)


def test_a_pattern_that_backtracks_for_ever_makes_the_task_invalid():
    rules = rule(("contains", "a"), ("regex", "(a|aa)+$"))
    body = judge(rules, ReplyBody(text="a" * 5000 + "b"))
    assert isinstance(body, InvalidBody)
    assert "'regex=(a|aa)+$'" in body.reason


@pytest.mark.parametrize(
    ("op", "arg", "words"),
    [
        ("contain", "x", "did you mean 'contains'?"),
        ("MAX_CHARS", 5, "did you mean 'max_chars'?"),
        ("zzz", "x", "known are max_chars"),
        ("regex", "(", "missing )"),
        ("regex", "(" * 5000, "nested too deeply"),
        ("regex", " ", "not blank"),
        ("contains", "", "not blank"),
        ("contains", "\t", "not blank"),
        ("section_present", None, "needs an argument"),
        ("contains", True, "not True"),
        ("contains", 2.5, "put it in quotes"),
        ("max_chars", None, "needs an argument"),
        ("max_chars", True, "not True"),
        ("max_chars", -1, "not -1"),
        ("max_chars", "-1", "not '-1'"),
        ("max_chars", 2.0, "not 2.0"),
        ("max_chars", "many", "not 'many'"),
        ("min_chars", "²", "not '²'"),
        ("min_chars", "9" * 5000, "whole number"),
        ("no_refusal", "x", "takes no argument"),
    ],
)
def test_an_unusable_check_is_named_before_anything_is_spent_and_never_scored(op, arg, words):
    rules = rule(("contains", "fine"), (op, arg))
    [problem] = validate_judge(rules)
    assert problem.startswith("check 2: ")
    assert op in problem
    assert words in problem
    body = judge(rules, ReplyBody(text="fine"))
    assert isinstance(body, InvalidBody)
    assert problem in body.reason


def test_a_usable_judge_has_no_problems():
    assert validate_judge(rule(*{(op, arg) for op, arg, _, _ in PASSING_AND_FAILING})) == []


def test_every_kind_of_judge_has_a_version():
    assert set(judge_versions()) >= {"rule", "exact", "answer", "numeric", "choice", "function"}
    assert all(version >= 1 for version in judge_versions().values())


@settings(deadline=None)
@given(text=st.text(), arg=st.text(max_size=8), pattern=st.text(max_size=12))
def test_any_text_and_argument_give_a_score_in_range_or_an_invalid_task(text, arg, pattern):
    rules = rule(
        ("contains", arg), ("section_present", arg), ("section_contains", arg), ("regex", pattern)
    )
    body = judge(rules, ReplyBody(text=text))
    if validate_judge(rules):
        assert isinstance(body, InvalidBody)
    else:
        assert isinstance(body, JudgementBody)
        assert 0.0 <= body.soft <= 1.0
        assert body.hard == (body.soft == 1.0)
        assert bool(body.feedback) == (body.hard == 0.0)


@settings(deadline=None)
@given(text=st.text(min_size=1).filter(str.strip), arg=st.text(min_size=1).filter(str.strip))
def test_contains_and_not_contains_are_opposites(text, arg):
    body = scored(rule(("contains", arg), ("not_contains", arg)), text)
    assert body.soft == 0.5
