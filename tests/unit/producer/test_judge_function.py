"""A function as a judge: what it may return, and when its judgements still hold."""

from __future__ import annotations

import functools
import importlib.util
import math
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from producer.judge_function import MAX_FEEDBACK_CHARS, Score, judgement_of, name_function
from skillopt.errors import InputError

# --- what it returns ----------------------------------------------------------------------------


class ForeignFloat:
    """A number of another library, which is no float itself."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


@pytest.mark.parametrize(
    ("returned", "hard", "soft"),
    [
        (True, 1, 1),
        (False, 0, 0),
        (1, 1, 1),
        (0.75, 0, 0.75),
        (0, 0, 0),
        (Fraction(1, 4), 0, 0.25),
        (Decimal("1"), 1, 1),
        (ForeignFloat(0.5), 0, 0.5),
        (Score(1), 1, 1),
        (Score(True), 1, 1),
        (Score(0, 0.9), 0, 0.9),
        (Score(hard=ForeignFloat(1.0), soft=ForeignFloat(0.5)), 1, 0.5),
    ],
)
def test_a_verdict_is_a_score_a_truth_value_or_a_number(returned, hard, soft):
    judgement = judgement_of(returned)
    assert (judgement.hard, judgement.soft) == (hard, soft)


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        (None, "None"),
        ("1", "'1'"),
        ([1], "[1]"),
        ({"hard": 1}, "{'hard': 1}"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-0.1, "-0.1"),
        (1.5, "1.5"),
        (Score(0.5), "0.5"),
        (Score(1, 2), "2"),
        (Score("1"), "'1'"),
        (Score(1, math.nan), "nan"),
        (Score(1, feedback=b"x"), "b'x'"),
        (Score(1, criteria={3: True}), "3"),
    ],
)
def test_anything_else_is_no_score_and_is_named(returned, named):
    with pytest.raises((TypeError, ValueError), match=r".") as caught:
        judgement_of(returned)
    assert named in str(caught.value)


def test_a_returned_megabyte_is_not_repeated_in_the_message():
    with pytest.raises(TypeError) as caught:
        judgement_of("x" * 1_000_000)
    assert len(str(caught.value)) < 500


def test_criteria_are_kept_word_for_word_and_give_the_score():
    judgement = judgement_of(Score.of({"it greets": True, "it thanks": False}))
    assert (judgement.hard, judgement.soft) == (0, 0.5)
    assert [(one.requirement, one.passed) for one in judgement.criteria] == [
        ("it greets", True),
        ("it thanks", False),
    ]
    assert judgement_of(Score.of({"it greets": True})).hard == 1


def test_a_score_of_no_criteria_is_refused():
    with pytest.raises(ValueError, match="no criteria"):
        Score.of({})


def test_feedback_is_cut_and_made_storable():
    feedback = judgement_of(Score(0, feedback="\ud800" + "x" * 2 * MAX_FEEDBACK_CHARS)).feedback
    assert len(feedback) == MAX_FEEDBACK_CHARS
    assert feedback.encode().startswith(b"?x")


# --- what it is called --------------------------------------------------------------------------


def load(path: Path) -> Any:
    """Load a module under the one name `scoring`."""
    spec = importlib.util.spec_from_file_location("scoring", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # The source of a class is found by the name of its module.
    sys.modules["scoring"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def no_module_stays():
    yield
    sys.modules.pop("scoring", None)


def revision(tmp_path: Path, source: str) -> str:
    """Give the revision of the function `judge` of a module."""
    path = tmp_path / f"scoring_{len(list(tmp_path.iterdir()))}.py"
    path.write_text(source)
    return name_function(load(path).judge, None).revision


PLAIN = "def judge(task, reply):\n    return 'x' in reply\n"


def test_the_same_source_has_the_same_revision_wherever_it_lies(tmp_path):
    assert revision(tmp_path, PLAIN) == revision(tmp_path, f"import os\nOTHER = 1\n\n{PLAIN}")


JUDGES_BY = "def judge(task, reply):\n    return {}\n"


@pytest.mark.parametrize(
    ("head", "expression", "before", "after"),
    [
        ("", "'$' in reply", "x", "y"),
        ("WORDS = ['$']\n", "all(word in reply for word in WORDS)", "a", "b"),
        ("WORDS = {'k': ('$',)}\n", "(lambda: WORDS['k'][0] in reply)()", "a", "b"),
        ("def good(text):\n    return $\n", "good(reply)", "True", "False"),
        ("LEAST = $\ndef good(text):\n    return len(text) > LEAST\n", "good(reply)", "3", "4"),
        ("import re\nP = re.compile('a', $)\n", "bool(P.search(reply))", "0", "re.I"),
        ("class Rule:\n    word = '$'\n", "Rule.word in reply", "a", "b"),
        (
            "W = '$'\nclass Rule:\n    def holds(self, text):\n        return W in text\n",
            "Rule().holds(reply)",
            "a",
            "b",
        ),
        (
            "W = '$'\nclass Rule:\n    @staticmethod\n    def word():\n        return W\n",
            "Rule.word() in reply",
            "a",
            "b",
        ),
        (
            "W = '$'\nclass Rule:\n    @property\n    def word(self):\n        return W\n",
            "Rule().word in reply",
            "a",
            "b",
        ),
        ("W = '$'\nclass Rule:\n    word = W\n", "Rule.word in reply", "a", "b"),
        (
            "class Base:\n    word = '$'\nclass Rule(Base):\n    pass\n",
            "Rule.word in reply",
            "a",
            "b",
        ),
    ],
)
def test_whatever_changes_what_it_does_changes_the_revision(
    tmp_path, head, expression, before, after
):
    source = head + JUDGES_BY.format(expression)
    assert "$" in source
    one, two = (revision(tmp_path, source.replace("$", value)) for value in (before, after))
    assert one != two
    assert one == revision(tmp_path, source.replace("$", before))


@pytest.mark.parametrize(
    "source",
    [
        "def make(n):\n    def judge(task, reply):\n        return len(reply) > n\n"
        "    return judge\njudge = make($)\n",
        "def judge(task, reply, least=$):\n    return len(reply) > least\n",
        "def judge(task, reply, *, least=$):\n    return len(reply) > least\n",
    ],
)
def test_what_it_closes_over_and_its_defaults_are_part_of_it(tmp_path, source):
    assert revision(tmp_path, source.replace("$", "1")) != revision(
        tmp_path, source.replace("$", "2")
    )


def test_what_it_does_not_use_does_not_count(tmp_path):
    used = "W = {'b', 'a', 'c'}\ndef judge(task, reply):\n    return any(w in reply for w in W)\n"
    assert revision(tmp_path, used) == revision(tmp_path, f"CLIENT = object()\n{used}")


def test_lambdas_of_one_line_are_told_apart(tmp_path):
    path = tmp_path / "lambdas.py"
    path.write_text("PAIR = [lambda task, reply: reply in {'a', 'b'}, lambda task, reply: 'a'][:]")
    module = load(path)
    one, two = (name_function(each, None) for each in module.PAIR)
    assert one.name == two.name
    assert one.revision != two.revision


def test_a_change_of_what_wraps_the_function_is_seen(tmp_path):
    source = (
        "import functools\n"
        "def lenient(function):\n"
        "    @functools.wraps(function)\n"
        "    def call(task, reply):\n"
        "        return function(task, reply$)\n"
        "    return call\n"
        "@lenient\n"
        "def judge(task, reply):\n"
        "    return 'x' in reply\n"
    )
    one, two = (revision(tmp_path, source.replace("$", part)) for part in ("", ".lower()"))
    other = revision(tmp_path, source.replace("$", "").replace("'x'", "'y'"))
    assert len({one, two, other}) == 3


def test_functions_that_call_each_other_have_a_revision(tmp_path):
    source = (
        "def judge(task, reply):\n    return other(task, reply[1:]) if reply else 1\n\n"
        "def other(task, reply):\n    return judge(task, reply)\n"
    )
    assert revision(tmp_path, source)


def test_the_order_of_a_set_does_not_count(tmp_path):
    one = "W = {'a', 'b', 'c', 'd'}\ndef judge(task, reply):\n    return reply in W\n"
    two = "W = {'d', 'c', 'b', 'a'}\ndef judge(task, reply):\n    return reply in W\n"
    assert revision(tmp_path, one) == revision(tmp_path, two)


class Client:
    def judge(self, task: dict[str, Any], reply: str) -> bool:
        return True

    def __call__(self, task: dict[str, Any], reply: str) -> bool:
        return True


CLIENT = Client()


def asks_an_object(task: dict[str, Any], reply: str) -> bool:
    return CLIENT.judge(task, reply)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (asks_an_object, "'CLIENT'"),
        (CLIENT, "Client"),
        (CLIENT.judge, "Client.judge"),
        (functools.partial(asks_an_object), "partial"),
        (eval("lambda task, reply: True"), "source is not known"),
    ],
)
def test_what_its_source_does_not_tell_needs_a_version(function, named):
    with pytest.raises(InputError, match="judge_version") as caught:
        name_function(function, None)
    assert named in str(caught.value)
    assert name_function(function, "7").revision == "7"


async def asynchronous(task: dict[str, Any], reply: str) -> bool:
    return True


def takes_one(reply: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("function", "fault"), [(asynchronous, "asynchronous"), (takes_one, "def judge(task, reply)")]
)
def test_a_function_that_cannot_be_a_judge_is_refused_before_the_run(function, fault):
    with pytest.raises(InputError, match="judge") as caught:
        name_function(function, "1")
    assert fault in str(caught.value)
    assert function.__name__ in str(caught.value)


@pytest.mark.parametrize("version", ["", "  ", 1])
def test_a_version_is_a_text(version):
    with pytest.raises(InputError, match="judge_version"):
        name_function(takes_two, version)


def takes_two(task: dict[str, Any], reply: str) -> bool:
    return True


def test_the_name_says_where_the_function_is():
    assert name_function(takes_two, None).name == f"{sys.modules[__name__].__name__}:takes_two"
