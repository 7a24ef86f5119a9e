from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.item import AnswerJudge
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.judges import judge, validate_judge
from skillopt.judges.answer import words
from skillopt.judges.final_answer import final_answer


def scored(answers: tuple[str, ...], text: str, **more: object) -> JudgementBody:
    body = judge(AnswerJudge(answers=answers), ReplyBody(text=text, **more))
    assert isinstance(body, JudgementBody)
    return body


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Paris", "Paris"),
        ("Some thoughts.\n\nParis\n", "Paris"),
        ("It is <answer>Rome</answer>, no <ANSWER> Paris </ANSWER>.\nSure.", "Paris"),
        ("<answer>two\nlines</answer>", "two lines"),
        ("<answer>Paris", "<answer>Paris"),
        ("x <answer></answer>", ""),
        ("Thoughts\n**Final answer:** Paris", "Paris"),
        ("The answer is: Paris", "Paris"),
        ("Answer: ", "Answer:"),
        ("```\nParis\n```\n---", "Paris"),
        ("first\n!?", "first"),
        ("??\n!!", "!!"),
        (" \n", ""),
    ],
)
def test_the_answer_is_the_last_tag_or_else_the_last_line_that_says_something(text, answer):
    assert final_answer(text) == answer


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("The Eiffel Tower", "eiffel tower."),
        ("Eiffel Tower", "It stands in Paris.\nThe 'Eiffel' Tower!"),
        ("U.S.", "US"),
        ("$1,000", "1000"),
        ("1990-1995", "1990\u20131995"),
        ("-5", "\u22125"),
        ("3.5", "3.5."),
        ("the", "the"),
        ("?", "?"),
        ("की", "की।"),
    ],
)
def test_dress_and_articles_do_not_matter(answer, text):
    body = scored((answer,), text)
    assert (body.hard, body.soft, body.feedback) == (1.0, 1.0, "")


@pytest.mark.parametrize(
    ("answer", "text"),
    [("35", "3.5"), ("5", "-5"), ("the", "a"), ("?", "!"), ("की", "का"), ("Paris", "Paris\nRome")],
)
def test_another_answer_is_wrong(answer, text):
    assert scored((answer,), text).hard == 0.0


def test_soft_is_the_best_overlap_of_words_with_any_answer():
    body = scored(("the red fox", "a brown bear of the north"), "big red fox")
    assert body.hard == 0.0
    assert body.soft == pytest.approx(2 * 2 / (3 + 2))
    assert scored(("fox",), "bear").soft == 0.0
    assert scored(("red fox", "fox"), "Fox").soft == 1.0
    assert scored(("fox fox",), "fox").soft == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("It is Paris, I think", 'it says more than the answer: "It is Paris, I think"; expected'),
        ("Paris.\nI hope this helps", "the answer stands elsewhere in the reply; its end is"),
        ("Rome", 'the answer is "Rome"; expected "Paris"'),
    ],
)
def test_an_analyst_reads_what_was_wrong_with_the_answer(text, detail):
    body = scored(("Paris",), text)
    [criterion] = body.criteria
    assert criterion.requirement == (
        "the last line is the expected answer itself, or <answer>…</answer> holds it"
    )
    assert criterion.detail.startswith(detail)
    assert body.feedback == f"- failed: {criterion.requirement} ({criterion.detail})"


def test_long_answers_and_long_lists_are_cut_for_the_analyst():
    body = scored(tuple(f"a{n}" for n in range(9)), "x" * 1000)
    assert len(body.criteria[0].detail) < 400
    assert body.criteria[0].detail.endswith("or one of 4 more")


@pytest.mark.parametrize(
    ("text", "finish_reason"), [("", "stop"), (" ", "stop"), ("Paris", "refusal")]
)
def test_no_answer_is_wrong_and_says_so(text, finish_reason):
    body = scored(("Paris",), text, finish_reason=finish_reason)
    assert (body.hard, body.soft) == (0.0, 0.0)
    assert body.feedback.startswith(("the answer is empty", "the model refused"))


@pytest.mark.parametrize("answers", [(), ("",), ("fine", " \n")])
def test_a_judge_without_an_answer_makes_the_task_invalid(answers):
    assert len(validate_judge(AnswerJudge(answers=answers))) == 1
    body = judge(AnswerJudge(answers=answers), ReplyBody(text="x"))
    assert isinstance(body, InvalidBody)
    assert "answer" in body.reason


@pytest.mark.parametrize(
    "text",
    ["<answer>" * 125_000, "." * 1_000_000, "a " * 500_000, "x\n" * 500_000, "-5." * 300_000],
)
def test_a_long_reply_is_judged_in_linear_time(text):
    # Quadratic work would not end within the suite's limit for one test.
    assert scored(("Paris", "a b"), text).hard == 0.0


@settings(deadline=None)
@given(answer=st.text(min_size=1).filter(str.strip), text=st.text())
def test_any_reply_has_a_score_in_range(answer, text):
    body = scored((answer,), text)
    assert 0.0 <= body.soft <= 1.0
    assert (body.hard == 1.0) == (body.soft == 1.0 and body.feedback == "")


@settings(deadline=None)
@given(text=st.text(min_size=1).filter(str.strip))
def test_every_answer_equals_itself(text):
    assert words(text) == words(text.upper().lower()) or text.casefold() != text.lower()
    assert scored((text,), f"<answer>{text}</answer>").hard == float("answer>" not in text.lower())
