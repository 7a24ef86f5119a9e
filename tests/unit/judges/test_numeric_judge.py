from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.item import NumericJudge
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.judges import judge, validate_judge
from skillopt.judges.numeric import number_of
from skillopt.judges.quantities import plain_text, quantities


def scored(answer: object, text: str, **more: object) -> JudgementBody:
    answers = answer if isinstance(answer, tuple) else (str(answer),)
    body = judge(NumericJudge(answers=answers, **more), ReplyBody(text=text))
    assert isinstance(body, JudgementBody)
    return body


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.5", "1234.5"),
        ("12,34,567", "1234567"),
        ("1 234 567,8", "1234567.8"),
        ("1\u202f234", "1234"),
        ("1'000", "1000"),
        ("1_000", "1000"),
        ("1.234.567,8", "1234567.8"),
        ("3,14", "3.14"),
        ("0,125", "0.125"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("\u22125", "-5"),
        ("minus 5", "-5"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        ("+5", "5"),
        ("1.5e-3", "0.0015"),
        ("1.5 \u00d7 10^3", "1500"),
        ("1.5 \\times 10^{-3}", "0.0015"),
        ("3 * 10**5", "300000"),
        ("2·10³", "2000"),
        ("10⁻²", "0.01"),
        ("3/4", "3/4"),
        ("\\frac{1}{8}", "1/8"),
        ("\\boxed{42}", "42"),
        ("**42**", "42"),
        ("$42$", "42"),
        ("<b>42</b>", "42"),
        ("3 million", "3000000"),
        ("42.", "42"),
        ("H2O boils at 100", "100"),
        ("-> 5", "5"),
        ("5 m^2", "5"),
    ],
)
def test_a_number_is_read_however_it_is_written(text, value):
    [found] = quantities(plain_text(text))
    assert found.value == Fraction(value)


@pytest.mark.parametrize(
    "text",
    ["<5", "≤ 5", "x >= 5", "5+", "1.2.3", "2^10", "3/0", "1e99999", "9" * 100, "10^99999"],
)
def test_what_is_no_single_value_is_not_read_as_one(text):
    assert [found.value for found in quantities(plain_text(text))][:1] == [None]


@pytest.mark.parametrize("text", ["", "none", "H2O", "x²", "v1.2", "a_1"])
def test_digits_within_names_are_no_numbers(text):
    assert list(quantities(text)) == []


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("42", "The answer is 42."),
        ("42", "First 3, then 4.\n3 + 39 = 42"),
        ("42", "<answer>42</answer> since 6 times 7"),
        ("42", "3. The total is 42"),
        ("42", "Total for 3 people: 42 apples"),
        ("42", "42 (42.0)"),
        ("1,234", "1234.00"),
        ("25", "25%"),
        ("0.25", "25%"),
        ("0.25", "0.25 (25%)"),
        ("25%", "25 percent"),
        ("25%", "25"),
        ("5 km", "5 km"),
        ("5 km", "5"),
        ("5 kilometre", "5 Kilometres."),
        ("300 K", "300K"),
        ("300000", "300K"),
        ("$5", "5"),
        ("$5", "$5 each"),
        ("5 USD", "USD 5 per year"),
        (("5 km", "3.1 miles"), "5 km (3.1 miles)"),
        ("1e+16", "10^16"),
    ],
)
def test_the_same_number_is_right(answer, text):
    body = scored(answer, text)
    assert (body.hard, body.soft, body.feedback) == (1.0, 1.0, "")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("4", "42"),
        ("5", "-5"),
        ("5", "five"),
        ("5", "5 or 6"),
        ("5", "5 ± 0.1"),
        ("5", "5-7"),
        ("5", "< 5"),
        ("5", "5 million"),
        ("5", "5M"),
        ("0.25", "0.25%"),
        ("25%", "0.25"),
        ("25%", "25 km"),
        ("5 km", "5 miles"),
        ("5 km", "5 km/h"),
        ("5 km", "5%"),
        ("5 mW", "5 MW"),
        ("$5", "€5"),
        ("2020", "3/4/2020"),
        ("12", "12:30"),
        ("42", "It is 42.\nI hope that helps!"),
        ("42", "<answer></answer> 42"),
    ],
)
def test_another_number_or_more_than_one_is_wrong(answer, text):
    assert scored(answer, text).hard == 0.0


@pytest.mark.parametrize(
    ("text", "more", "passes"),
    [
        ("100.5", {"absolute": 0.5}, True),
        ("100.51", {"absolute": 0.5}, False),
        ("99", {"relative": 0.01}, True),
        ("98.9", {"relative": 0.01}, False),
        ("98.9", {"relative": 0.01, "absolute": 2}, True),
        ("100.0000001", {}, False),
    ],
)
def test_the_larger_tolerance_counts_and_its_limit_is_within(text, more, passes):
    assert scored("100", text, **more).hard == float(passes)


def test_no_rounding_error_decides():
    assert scored("0.3", "0.1", absolute=0.2).hard == 1.0
    assert scored("0.1", "0.10000000000000000001").hard == 0.0


def test_soft_is_zero_unless_nearness_is_asked_for():
    assert scored("100", "80").soft == 0.0
    assert scored("100", "80", partial=True).soft == pytest.approx(0.8)
    assert scored("80", "100", partial=True).soft == pytest.approx(0.8)
    assert scored("100", "-80", partial=True).soft == 0.0
    assert scored("0", "80", partial=True).soft == 0.0
    assert scored("100", "80 or 90", partial=True).soft == 0.0


def test_criteria_tell_form_from_value():
    form, value = scored("7", "maybe 3 or 4", absolute=0.5, relative=0.1).criteria
    assert form.requirement == (
        "the last line states the result as one number, or <answer>…</answer> holds it"
    )
    assert form.detail == 'stated is 3, 4 in "maybe 3 or 4"'
    assert value.requirement == "the number is the expected one, give or take 0.5 or 10%"
    assert value.detail == 'stated is 3, 4; expected "7"'
    form, value = scored("7", "8").criteria
    assert (form.passed, value.passed) == (True, False)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "blank"),
        ("many", "is not one number"),
        ("12:30", "is not one number"),
        ("< 5", "is not one number"),
        ("1.2.3", "is not one number"),
        ("1.5M", "write the number out"),
        ("about 5", "says more than a number and its unit"),
        ("5 percent of all", "says more"),
        ("5 (five)", "says more"),
    ],
)
def test_an_unusable_answer_is_named_and_makes_the_task_invalid(answer, words):
    broken = NumericJudge(answers=("1", answer))
    [problem] = validate_judge(broken)
    assert problem.startswith("numeric answer 2: ")
    assert repr(answer) in problem
    assert words in problem
    assert isinstance(judge(broken, ReplyBody(text="1")), InvalidBody)


def test_no_answer_at_all_is_a_problem():
    assert len(validate_judge(NumericJudge(answers=()))) == 1


def test_a_number_has_one_form_however_it_is_written():
    assert number_of("1,000.50") == number_of("1000.5")
    assert number_of("5%") != number_of("5")
    assert number_of("five") is None


@pytest.mark.parametrize(
    "text",
    ["1" * 1_000_000, "1," * 500_000, "1 " * 500_000, "=" * 1_000_000, "a1" * 500_000,
     "$" * 1_000_000, "$1" * 500_000, "<b" * 500_000, "1e" * 500_000, "10^" * 300_000,
     "\\text{" * 160_000, "-" * 1_000_000, "7\n" * 500_000, "answer " * 140_000 + "7"],
)  # fmt: skip
def test_a_long_reply_is_judged_in_linear_time(text):
    # Quadratic work would not end within the suite's limit for one test.
    assert scored("41", text).hard == 0.0


@settings(deadline=None)
@given(text=st.text(alphabet=st.sampled_from("0123456789.,-+%$e^/ xk°<>=:()*\n'"), max_size=60))
def test_any_reply_has_a_score_in_range(text):
    body = scored("12.5", text, relative=0.1, partial=True)
    assert 0.0 <= body.soft <= 1.0
    assert bool(body.feedback) == (body.hard == 0.0)


@settings(deadline=None)
@given(text=st.text(max_size=20))
def test_any_answer_is_used_or_refused(text):
    body = judge(NumericJudge(answers=(text,)), ReplyBody(text="7"))
    assert isinstance(body, InvalidBody) == bool(validate_judge(NumericJudge(answers=(text,))))


@settings(deadline=None)
@given(st.integers(), st.integers())
def test_two_numbers_are_equal_only_if_they_are(left, right):
    if max(abs(left), abs(right)) < 10**50:
        assert scored(f"{left}", f"It is {right:,}.").hard == float(left == right)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_of_a_file_equals_itself(number):
    if len(str(number)) < 50:
        assert scored(str(number), f"= {number}").hard == 1.0
