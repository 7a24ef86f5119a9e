from __future__ import annotations

import pytest
from config_workspace import RULE, record

from skillopt.config.answer_bias import biased_answers
from skillopt.config.judge_shape import is_shape_only
from skillopt.config.lint import lint
from skillopt.domain.item import (
    Check,
    ExactJudge,
    FunctionJudge,
    Item,
    Judge,
    RuleJudge,
    Splits,
    TaskPrompt,
)

SUBJECTS = ("tea", "rain", "iron", "salt", "wool", "clay", "snow", "oak", "silk", "rye", "zinc")


def rule(*checks: tuple[str, object]) -> RuleJudge:
    return RuleJudge(checks=tuple(Check(op=op, arg=arg) for op, arg in checks))


def item(number: int, judge: Judge, task: str = "", context: str = "") -> Item:
    subject = SUBJECTS[number % len(SUBJECTS)]
    asked = task or f"Say where {subject} number {number} comes from."
    return Item(id=f"t-{number}", prompt=TaskPrompt(task=asked, context=context), judge=judge)


def train(*items: Item) -> Splits:
    return Splits(train=items)


def exact(answers: list[object], **more: str) -> Splits:
    return train(*(item(n, ExactJudge(answer=answer), **more) for n, answer in enumerate(answers)))


# --- answers


def test_an_answer_that_is_right_too_often_is_found_with_its_count():
    splits = exact(["Blue."] * 4 + ["blue"] * 3 + ["red", "green", "grey"])
    assert biased_answers(splits) == [
        "7 of 10 tasks with an expected answer accept 'blue': a document that says so passes them "
        "without any work; balance the answers"
    ]


def test_one_answer_for_all_tasks_is_found():
    [found] = biased_answers(exact(["DONE"] * 12))
    assert found.startswith("12 of 12 tasks")


@pytest.mark.parametrize(
    "answers",
    [
        ["a"] * 5 + list("bcdef"),  # half of ten
        ["a"] * 8 + ["b"],  # nine tasks show no pattern
        ["yes"] * 7 + ["no"] * 3,  # of two answers, one is right in half by nature
        [["a", "b"], ["c", "d"]] * 6,
    ],
)
def test_answers_that_vary_are_no_finding(answers):
    assert biased_answers(exact(answers)) == []


def test_of_two_answers_one_may_be_right_in_less_than_three_quarters():
    assert biased_answers(exact(["yes"] * 9 + ["no"] * 3))


def test_an_answer_among_several_accepted_ones_counts():
    [found] = biased_answers(exact([["four", "4"]] * 7 + ["1", "2", "3"]))
    assert found.startswith("7 of 10 tasks")


def test_a_bias_of_one_split_is_found_where_the_others_hide_it():
    spread = [item(n, ExactJudge(answer=f"a{n}")) for n in range(40)]
    constant = [item(n, ExactJudge(answer="B")) for n in range(40, 52)]
    [found] = biased_answers(Splits(train=tuple(spread), test=tuple(constant)))
    assert found.startswith("12 of 12 tasks of test with an expected answer accept 'b'")


OPTIONS = {
    "lines": "Which?\n{0}\nA) {1}\nB) {2}\nC) {3}",
    "brackets": "Which of ({0})?\n(a) {1}\n(b) {2}\n(c) {3}\nAnswer with the words.",
    "one line": "Which {0}? 1. {1} 2. {2} 3. {3}",
}


@pytest.mark.parametrize("form", OPTIONS.values(), ids=OPTIONS)
def test_one_place_among_options_that_is_right_too_often_is_found(form):
    items = []
    for number in range(10):
        texts = [f"w{number}{letter}" for letter in "xyz"]
        right = texts[1] if number < 8 else texts[0]
        task = form.format(number, *texts)
        items.append(item(number, ExactJudge(answer=right), task))
    assert biased_answers(train(*items)) == [
        "8 of 10 tasks with options have option 2 as answer: a document that says so passes them "
        "without any work; shuffle the options"
    ]


def test_options_whose_right_place_varies_are_no_finding():
    items = []
    for number in range(12):
        texts = [f"w{number}{letter}" for letter in "xyz"]
        task = "Which?\nA) {}\nB) {}\nC) {}".format(*texts)
        items.append(item(number, ExactJudge(answer=texts[number % 3]), task))
    assert biased_answers(train(*items)) == []


# --- judges


@pytest.mark.parametrize(
    ("check", "shape"),
    [
        (("max_chars", 100), True),
        (("min_chars", 100), True),
        (("section_present", "Summary"), True),
        (("section_contains", "Summary"), True),
        (("no_refusal", None), True),
        (("not_contains", "sorry"), True),
        (("contains", "## Summary"), True),
        (("contains", "Next step:"), False),
        (("tool_called", "search"), False),
        (("regex", r"^\d{4}-\d\d$"), True),
        (("regex", r"(?m)^## Summary"), True),
        (("regex", r"[A-Z][a-z]+ing\b"), False),
        (("regex", r"(?i)next step\s*:"), False),
        (("regex", r"(?s)\A[^\n]{1,80}\Z"), True),
    ],
)
def test_checks_of_shape_are_told_from_checks_of_content(check, shape):
    assert is_shape_only(rule(check)) is shape
    assert is_shape_only(rule(check, ("contains", "Paris"))) is False


def test_judges_that_look_only_at_shape_are_found_if_half_of_the_tasks_have_them():
    shape = rule(("section_present", "Summary"), ("max_chars", 500))
    content = rule(("contains", "Paris"))
    items = [item(n, shape if n < 5 else content) for n in range(10)]
    assert lint(train(*items)) == [
        "5 of 10 tasks ('t-0', 't-1', 't-2' and 2 more) are judged by the shape of the answer "
        "alone (length, headings, absent words); add a check of what it says"
    ]
    assert lint(train(*items[1:])) == []


def test_tasks_that_any_answer_passes_are_found():
    anything = rule(("max_chars", 500), ("not_contains", "sorry"))
    assert lint(train(item(1, anything), item(2, anything))) == [
        "2 of 2 tasks ('t-1', 't-2') pass with the answer 'OK.'; check what an answer must say"
    ]


def test_tasks_that_give_their_own_answer_away_are_found():
    judge = rule(("contains", "Paris"), ("max_chars", 500))
    asked = item(1, judge, task="Is it Paris or Rome?")
    with_text = item(
        2, ExactJudge(answer="iron", substring=True), context="Nails are made of iron."
    )
    assert lint(train(asked, with_text)) == [
        "2 of 2 tasks ('t-1', 't-2') pass with an answer that only repeats the task; check for "
        "something that the task does not say itself"
    ]
    assert lint(train(item(1, judge), item(2, ExactJudge(answer="iron")))) == []


def test_a_judge_that_is_a_function_is_not_asked():
    judge = FunctionJudge(function="f", revision="1", task={})
    assert lint(train(item(1, judge), item(2, judge))) == []


def test_patterns_are_not_tried_on_whole_tasks_which_may_take_for_ever():
    judge = rule(("regex", "Paris"))
    assert lint(train(*(item(n, judge, task=f"Is {n} in Paris?") for n in range(4)))) == []


# --- in a spec


def test_near_duplicates_across_splits_are_told_once_with_their_number(workspace):
    long = "Add all the numbers that you can find on this page of the old book"
    for number, split in enumerate(("train", "val", "test")):
        rows = [
            record(10 * number + n, task=f"{long}, part {SUBJECTS[n]}{'.' * number}")
            for n in range(4)
        ]
        workspace.write_records(f"s/{split}.jsonl", rows)
    workspace.spec("", tasks="s")
    loaded = workspace.load()
    [finding] = loaded.lint
    assert loaded.warnings == [finding]
    assert finding.startswith(f"{workspace.folder}/spec.yaml:2: tasks: 8 tasks are nearly the same")
    assert " and 5 more); remove them, or move them to one split" in finding


def test_what_a_limit_leaves_out_is_not_looked_at(workspace):
    long = "Add all the numbers that you can find on this page of the old book"
    workspace.write_records("s/train.jsonl", [record(n) for n in range(2)])
    workspace.write_records("s/val.jsonl", [record(n) for n in range(2, 4)])
    workspace.write_records(
        "s/test.jsonl", [record(n, judge=RULE | {"checks": [{"op": "no_refusal"}]}, task=long + "."
         * n) for n in range(4, 12)]
    )  # fmt: skip
    workspace.spec("", tasks="s")
    assert workspace.load().lint
    assert workspace.load(overrides=["evaluation.test_limit=1"]).lint == []
