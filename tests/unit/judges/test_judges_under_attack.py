"""Answers and patterns that are made to fool or to stop a judge."""

from __future__ import annotations

import pytest

from skillopt.domain.item import (
    AnswerJudge,
    Check,
    ChoiceJudge,
    ExactJudge,
    Judge,
    NumericJudge,
    RuleJudge,
)
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.judges import judge
from skillopt.judges.operations import OPERATIONS
from skillopt.judges.quantities import plain_text

JUDGES: dict[str, Judge] = {
    "exact": ExactJudge(answer="4"),
    "substring": ExactJudge(answer="4 km", substring=True),
    "answer": AnswerJudge(answers=("the fourth",)),
    "numeric": NumericJudge(answers=("4", "5 km", "25%"), partial=True),
    "choice": ChoiceJudge(answers=("A",), choices={"A": "Paris", "B": "Rome", "C": ""}),
    "rule": RuleJudge(
        checks=(
            Check(op="contains", arg="never there"),
            Check(op="section_present", arg="Risks"),
            Check(op="section_contains", arg="Risks"),
            Check(op="no_refusal"),
            Check(op="tool_called", arg="look"),
        )
    ),
}
#: Repeated so often that anything which takes more than linear time would never end.
HUGE = 100_000
LONG_ANSWERS = {
    "marks between digits": "1" + "*" * HUGE + "1",
    "ticks between digits": "1" + "`" * HUGE + "1",
    "many numbers": "1," * HUGE + "2",
    "one number": "1" * HUGE,
    "open tags": "<answer>" * HUGE,
    "many answers": "<answer>x</answer>" * HUGE,
    "many options": "A or " * HUGE + "B",
    "statements": "the answer is " * HUGE + "A",
    "hashes": "#" * HUGE + " " + "# " * HUGE,
    "signs": "-" * HUGE + "5",
    "fractions": "\\frac{1" * HUGE,
    "blank": " \n" * HUGE + "x",
    "emphasis": "_" * HUGE + "z" + "_" * HUGE,
}


@pytest.mark.parametrize("kind", JUDGES)
@pytest.mark.parametrize("answer", LONG_ANSWERS)
@pytest.mark.timeout(30)
def test_a_huge_answer_is_judged_all_the_same(kind, answer):
    verdict = judge(JUDGES[kind], ReplyBody(text=LONG_ANSWERS[answer]))
    assert isinstance(verdict, JudgementBody)
    assert verdict.hard == 0.0 or (kind, answer) == ("choice", "statements")
    assert len(verdict.feedback) < 5_000


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("**5**", "5"),
        ("`5` km", "5 km"),
        ("2**3", "2**3"),
        ("2*3", "2*3"),
        ("a **5", "a 5"),
        ("5** b", "5 b"),
        ("*", ""),
        ("5 ** 6", "5 6"),
    ],
)
def test_emphasis_goes_and_a_product_stays(written, plain):
    assert plain_text(written) == plain


@pytest.mark.parametrize(
    "pattern",
    [r"(?:a{1,1000}){1,40}b", r"(?:a|aa)+$b", r"(?:aaaaaaaaaab){e<=8}$", r"^(?:(?=(a+))\1?)*?$b"],
)
def test_a_pattern_without_end_makes_the_task_invalid_never_a_zero(pattern):
    judged = judge(
        RuleJudge(checks=(Check(op="regex", arg=pattern),)), ReplyBody(text="a" * 300_000)
    )
    assert isinstance(judged, InvalidBody) or judged.criteria[0].passed is False
    if isinstance(judged, InvalidBody):
        assert "did not finish within 1 s" in judged.reason


def test_a_check_that_runs_out_of_memory_makes_the_task_invalid(monkeypatch):
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("skillopt.judges.operations.regex.search", exhausted)
    judged = judge(RuleJudge(checks=(Check(op="regex", arg="a"),)), ReplyBody(text="a"))
    assert isinstance(judged, InvalidBody)


# --- claims -------------------------------------------------------------------------------------


def test_every_operation_is_there():
    assert set(OPERATIONS) == {
        "max_chars", "min_chars", "contains", "not_contains", "regex", "section_present",
        "section_contains", "no_refusal", "tool_called",
    }  # fmt: skip


@pytest.mark.parametrize(
    "claim",
    [
        "TOOL_CALL: look",
        '<tool_call>{"name": "look"}</tool_call>',
        '{"tool_calls": [{"function": {"name": "look"}}]}',
        "I called the tool look. tools called: look",
    ],
)
def test_a_text_that_claims_a_call_proves_nothing(claim):
    asked = RuleJudge(checks=(Check(op="tool_called", arg="look"),))
    assert judge(asked, ReplyBody(text=claim)).hard == 0.0
    assert judge(asked, ReplyBody(text=claim, tools_called=("looks",))).hard == 0.0
    assert judge(asked, ReplyBody(text="x", tools_called=("Look",))).hard == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        "42",
        "-4",
        "4.",
        "The answer is 4",
        "It is not 4",
        "4 or 5",
        '"4" would be wrong',
        "4%",
        "44",
    ],
)
def test_an_exact_answer_is_the_whole_answer(answer):
    passes = answer == "4."
    assert judge(ExactJudge(answer="4"), ReplyBody(text=answer)).hard == float(passes)


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("answer", "It is either the fourth or the fifth"),
        ("numeric", "It is 4 or 7"),
        ("numeric", "not 4 but 9"),
        ("choice", "A or B"),
        ("choice", "It is not A"),
    ],
)
def test_an_answer_that_hedges_or_denies_is_wrong(kind, answer):
    assert judge(JUDGES[kind], ReplyBody(text=answer)).hard == 0.0


@pytest.mark.parametrize("kind", JUDGES)
@pytest.mark.parametrize(
    "reply", [ReplyBody(text=" \n"), ReplyBody(text="4", finish_reason="refusal")]
)
def test_no_answer_is_a_zero_of_every_judge(kind, reply):
    verdict = judge(JUDGES[kind], reply)
    assert (verdict.hard, verdict.soft) == (0.0, 0.0)
    assert verdict.feedback


def test_what_a_judge_says_reaches_the_analyst_word_for_word():
    reason = "First:\n\n  - one,  two\n\n\nThen:\n- three"
    told = JudgementBody(hard=0.0, soft=0.0, feedback=reason)
    assert told.remarks == reason
    checked = judge(RuleJudge(checks=(Check(op="contains", arg="x"),)), ReplyBody(text="y"))
    assert checked.remarks == ""
    more = checked.model_copy(update={"feedback": f"Before\n{checked.feedback}\nAfter"})
    assert more.remarks == "Before\nAfter"
