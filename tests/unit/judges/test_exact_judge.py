from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.item import ExactJudge
from skillopt.domain.results import JudgementBody, ReplyBody
from skillopt.judges import judge, validate_judge


def scored(judge_: ExactJudge, text: str, **more: object) -> JudgementBody:
    body = judge(judge_, ReplyBody(text=text, **more))
    assert isinstance(body, JudgementBody)
    return body


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Paris", "  paris.\n"),
        ("Paris", "**Paris**"),
        ("Paris", "“Paris!”"),
        ("New York", "new \n york"),
        ("don't", "Don\u2019t"),
        ("-5", "\u22125"),
        ("42", "`42`."),
        ("0.5", "(0.5)"),
        ("?", "?"),
        ("é", "e\u0301"),
        ("42", "It is <answer>41</answer>, no: <ANSWER> 42 </ANSWER>. Sure."),
        ("7", "<answer>1</answer> and <answer><answer>7</answer>"),
        ("7 <answer>8", "7 <answer>8"),
        (("no", "nope"), "Nope"),
    ],
)
def test_the_whole_answer_may_differ_in_dress_only(answer, text):
    body = scored(ExactJudge(answer=answer), text)
    assert (body.hard, body.soft, body.feedback) == (1.0, 1.0, "")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("4", "42"),
        ("5", "-5"),
        ("-5", "5"),
        ("5", "+5"),
        ("5", ".5"),
        ("5", "5%"),
        ("5", "<5"),
        ("C", "C#"),
        ("?", "!"),
        ("Paris", "It is Paris"),
        ("42", "<answer>41</answer> 42"),
        ("42", "42 <answer></answer>"),
        (("a", "b"), "c"),
    ],
)
def test_anything_else_is_wrong(answer, text):
    body = scored(ExactJudge(answer=answer), text)
    assert (body.hard, body.soft) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("answer", "text", "passes"),
    [
        ("Paris", "It is (Paris), I think.", True),
        ("New York", "In *New\nYork*, yes", True),
        ("4", "It is 42", False),
        ("5", "It is -5", False),
        ("5", "It is 5.", True),
        ("5", "It is 5.2", False),
        ("art", "a party", False),
        ("Paris", "<answer>Lyon</answer> not Paris", False),
    ],
)
def test_substring_means_whole_words_within_the_answer(answer, text, passes):
    assert scored(ExactJudge(answer=answer, substring=True), text).hard == float(passes)


def test_the_criterion_says_what_was_expected_and_what_came():
    body = scored(ExactJudge(answer="42"), "43")
    [criterion] = body.criteria
    assert criterion.requirement == 'the whole answer equals the expected answer "42"'
    assert criterion.name == "exact=42"
    assert criterion.detail == 'the answer is "43"'
    assert body.feedback == (
        '- failed: the whole answer equals the expected answer "42" (the answer is "43")'
    )


@pytest.mark.parametrize(
    ("text", "finish_reason"), [("", "stop"), (" ", "stop"), ("42", "refusal")]
)
def test_no_answer_is_wrong_and_says_so(text, finish_reason):
    body = scored(ExactJudge(answer="42"), text, finish_reason=finish_reason)
    assert body.hard == 0.0
    assert "empty" in body.feedback or "refused" in body.feedback


@pytest.mark.parametrize("answer", ["", " \n", ("fine", " "), ()])
def test_a_blank_expected_answer_is_a_problem(answer):
    assert len(validate_judge(ExactJudge(answer=answer))) == 1


def test_a_usable_exact_judge_has_no_problems():
    assert validate_judge(ExactJudge(answer=("a", "?"))) == []


def test_long_runs_of_tags_and_punctuation_are_judged_in_linear_time():
    # Quadratic work would not end within the suite's limit for one test.
    text = "<answer>" * 100_000 + "*" * 500_000 + "x"
    assert scored(ExactJudge(answer="x"), text).hard == 0.0
    assert scored(ExactJudge(answer="x"), text + "</answer>").hard == 1.0


@settings(deadline=None)
@given(text=st.text(min_size=1).filter(lambda text: text.strip() and "answer>" not in text.lower()))
def test_every_text_equals_itself(text):
    assert scored(ExactJudge(answer=text), text).hard == 1.0


@settings(deadline=None)
@given(st.integers(), st.integers())
def test_two_numbers_are_equal_only_if_they_are(left, right):
    assert scored(ExactJudge(answer=str(left)), f"**{right}.**").hard == float(left == right)
