from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.item import ChoiceJudge
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.judges import judge, validate_judge
from skillopt.judges.chosen import Options

CITIES = {"A": "Rome", "B": "Paris", "C": "a dog", "D": "None of the above"}
LETTERS = dict.fromkeys("ABCDEFGH", "")


def scored(text: str, answers: tuple[str, ...] = ("B",), choices=CITIES) -> JudgementBody:
    body = judge(ChoiceJudge(answers=answers, choices=choices), ReplyBody(text=text))
    assert isinstance(body, JudgementBody)
    return body


CLEAR = [
    "B",
    "b",
    "(B)",
    "[b]",
    "**B**",
    "_B_",
    "B.",
    "> B",
    "- B)",
    "Option B",
    "**Option B**",
    "the answer is B",
    "The answer is (B).",
    "The correct answer is **B) Paris**",
    "Answer: B",
    "**Answer:** B",
    "**Answer: B**",
    "My final answer: option B",
    "The answer is _B_.",
    "I would choose B.",
    "B is correct.",
    "(B) is the correct answer",
    "\\boxed{B}",
    "$\\boxed{\\text{B}}$",
    "B) Paris",
    "**B. Paris**",
    "B, because it is the capital of France",
    "B\n\nBecause of its towers.",
    "Thinking about A and C.\n\nB",
    "The answer is A. No wait: the answer is B.",
    "The answer is B because A is too small.",
    "The answer is B, not A.",
    "A) Rome\nB) Paris\nC) a dog\n\nB",
    "<answer>A</answer> no, <answer>B</answer>, not A",
    "<answer>B) Paris</answer>",
    "The answer is B.\nI hope that this helps!",
]


@pytest.mark.parametrize("choices", [CITIES, LETTERS], ids=["texts", "labels"])
@pytest.mark.parametrize("text", CLEAR)
def test_a_clear_choice_is_read_however_it_is_put(text, choices):
    assert Options(choices).chosen(text) == {"B"}


@pytest.mark.parametrize("text", ["Paris", "paris.", "The answer is Paris.", "Answer: *Paris*"])
def test_the_text_of_an_option_chooses_it(text):
    assert Options(CITIES).chosen(text) == {"B"}
    assert Options(LETTERS).chosen(text) == set()


@pytest.mark.parametrize("choices", [CITIES, LETTERS], ids=["texts", "labels"])
@pytest.mark.parametrize(
    "text",
    [
        "A good capital is far away.",
        "A capital",
        "The answer is a matter of taste.",
        "The answer is not A",
        "I don't think the answer is A",
        "If the answer is A, so be it",
        "I can't pick A",
        "Neither A nor C",
        "A is not correct",
        "D) Lyon: incorrect",
        "A+",
        "an A-level",
        "A's",
        "Vitamin A",
        "I do not know",
    ],
)
def test_what_chooses_nothing_is_no_choice(text, choices):
    assert Options(choices).chosen(text) == set()


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("The answer is A or B", "AB"),
        ("Answer: B/C", "BC"),
        ("<answer>A, B</answer>", "AB"),
        ("A) Rome\nB) Paris\nC) a dog", "ABC"),
        ("Option A\nIt is old.\nOption B\nIt is nice, too.", "AB"),
        ("A is correct. B is correct.", "AB"),
    ],
)
def test_more_than_one_choice_is_wrong_whichever_is_right(text, labels):
    assert Options(CITIES).chosen(text) == set(labels)
    for answer in CITIES:
        assert scored(text, (answer,)).hard == 0.0


@pytest.mark.parametrize(
    ("labels", "text", "chosen"),
    [
        ("12", "2)", {"2"}),
        ("12", "The answer is 2.", {"2"}),
        ("12", "The answer is 2.5", set()),
        ("12", "12", set()),
        (("yes", "no"), "Yes!", {"yes"}),
        (("yes", "no"), "The answer is no.", {"no"}),
        (("yes", "no"), "no way", set()),
        ("Iİ", "\u0131", set()),
    ],
)
def test_labels_may_be_numbers_or_words(labels, text, chosen):
    assert Options(dict.fromkeys(labels, "")).chosen(text) == chosen


def test_right_wrong_and_several_right_options():
    assert (scored("B").hard, scored("B").soft, scored("B").feedback) == (1.0, 1.0, "")
    assert (scored("A").hard, scored("A").soft) == (0.0, 0.0)
    assert scored("D", ("B", "D")).hard == 1.0


def test_criteria_tell_form_from_choice():
    form, choice = scored("It may be A or C, I choose A or C").criteria
    assert form.requirement == (
        "the last line is the label of one option and nothing else, or <answer>…</answer> holds it"
    )
    assert form.detail == 'chosen is A and C in "It may be A or C, I choose A or C"'
    assert choice.requirement == "the chosen option is the right one"
    assert choice.detail == 'chosen is A and C; right is B ("Paris")'
    form, choice = scored("A", choices=LETTERS).criteria
    assert (form.passed, choice.passed) == (True, False)
    assert choice.detail == "chosen is A; right is B"


@pytest.mark.parametrize(("text", "finish_reason"), [(" ", "stop"), ("B", "refusal")])
def test_no_answer_is_wrong_and_says_so(text, finish_reason):
    reply = ReplyBody(text=text, finish_reason=finish_reason)
    body = judge(ChoiceJudge(answers=("B",), choices=CITIES), reply)
    assert body.hard == 0.0
    assert body.feedback.startswith(("the answer is empty", "the model refused"))


@pytest.mark.parametrize(
    ("answers", "choices", "words"),
    [
        ((), CITIES, "at least one answer"),
        (("E",), CITIES, "'E' is none of the labels A, B, C, D"),
        (("A",), {"A": "x"}, "at least two options"),
        (("A",), {"A": "x", "a": "y"}, "given twice"),
        (("A",), {"A": "x", "B ": "y"}, "'B ' is not usable"),
    ],
)
def test_an_unusable_judge_is_named_and_makes_the_task_invalid(answers, choices, words):
    broken = ChoiceJudge(answers=answers, choices=choices)
    [problem] = validate_judge(broken)
    assert words in problem
    body = judge(broken, ReplyBody(text="A"))
    assert isinstance(body, InvalidBody)
    assert problem in body.reason


@pytest.mark.parametrize(
    "text",
    ["A" * 1_000_000, "A " * 500_000, "A\n" * 500_000, "answer is " * 100_000, "(" * 1_000_000,
     "A is correct. " * 70_000 + "B", "A or " * 200_000, "A, " * 300_000, "not " * 250_000,
     "answer:" + " " * 1_000_000, "\\boxed{" * 140_000],
)  # fmt: skip
def test_a_long_reply_is_judged_in_linear_time(text):
    # Quadratic work would not end within the suite's limit for one test.
    assert scored(text, ("D",)).hard == 0.0


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["A", "b", "(C)", "the answer is", "not", "or", "Paris", ".", "\n", "<answer>",
             "</answer>", "is correct", "**", "\u0131", "a"]
        )
    )
)  # fmt: skip
def test_any_reply_has_a_score_and_one_choice_at_most_is_right(parts):
    body = scored(" ".join(parts))
    assert body.hard in (0.0, 1.0)
    assert body.soft == body.hard
    assert bool(body.feedback) == (body.hard == 0.0)


@settings(deadline=None)
@given(text=st.text(), labels=st.lists(st.text(max_size=3), max_size=5))
def test_any_labels_are_used_or_refused(text, labels):
    described = ChoiceJudge(answers=tuple(labels[:1]), choices=dict.fromkeys(labels, ""))
    body = judge(described, ReplyBody(text=text))
    assert isinstance(body, InvalidBody) == bool(validate_judge(described))
