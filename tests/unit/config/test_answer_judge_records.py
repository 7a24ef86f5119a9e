"""Records whose judges have expected answers, as people write them."""

from __future__ import annotations

import pytest
from config_workspace import record

from skillopt.config.lint import lint
from skillopt.domain.expected_answers import expected_answers
from skillopt.domain.item import (
    AddedJudge,
    AnswerJudge,
    ChoiceJudge,
    ExactJudge,
    FunctionJudge,
    Item,
    Judge,
    NumericJudge,
    Splits,
    TaskPrompt,
)

OPTIONS = "Which city?\nA) Rome\nB) Paris\nC) Bonn"


def read(workspace, *records: dict[str, object], more: str = "") -> list[Judge]:
    """Load a spec with these records first, and give their judges."""
    rows = [{"task_id": f"r-{n}", "task": f"Question {n}?"} | one for n, one in enumerate(records)]
    workspace.write_records("tasks.jsonl", [*rows, *(record(n) for n in range(12))])
    workspace.spec(more)
    splits = workspace.load().plan.splits
    items = {item.id: item for name in ("train", "val", "test") for item in splits.of(name)}
    return [items[row["task_id"]].judge for row in rows]


@pytest.mark.parametrize(
    ("judge", "read_as"),
    [
        ({"kind": "answer", "answers": ["a", 4]}, AnswerJudge(answers=("a", "4"))),
        ({"kind": "answer", "answers": "a"}, AnswerJudge(answers=("a",))),
        ({"kind": "numeric", "answers": [4, 0.5, "1,000"]},
         NumericJudge(answers=("4", "0.5", "1,000"))),
        ({"kind": "numeric", "answers": 1e-7, "absolute": 1, "relative": "5%", "partial": True},
         NumericJudge(answers=("1e-07",), absolute=1.0, relative=0.05, partial=True)),
        ({"kind": "choice", "answers": "b", "choices": ["x", "y"]},
         ChoiceJudge(answers=("B",), choices={"A": "x", "B": "y"})),
        ({"kind": "choice", "answers": ["y"], "choices": {"1": "x", "2": "y"}},
         ChoiceJudge(answers=("2",), choices={"1": "x", "2": "y"})),
        ({"kind": "choice", "answers": "B"},
         ChoiceJudge(answers=("B",), choices=dict.fromkeys("ABCDEFGH", ""))),
        ({"kind": "choice", "answers": 2},
         ChoiceJudge(answers=("2",), choices=dict.fromkeys("123456789", ""))),
    ],
)  # fmt: skip
def test_each_kind_is_read_as_it_is_written(workspace, judge, read_as):
    assert read(workspace, {"judge": judge}) == [read_as]


@pytest.mark.parametrize("answer", ["B", "b", "Paris"])
def test_options_are_taken_from_the_task_that_shows_them(workspace, answer):
    [judge] = read(workspace, {"task": OPTIONS, "judge": {"kind": "choice", "answers": answer}})
    assert judge == ChoiceJudge(answers=("B",), choices={"A": "Rome", "B": "Paris", "C": "Bonn"})


def test_a_default_judge_takes_the_answers_of_each_task(workspace):
    more = "judge: {kind: numeric, relative: 0.01}\nfields: {answers: gold}\n"
    judges = read(workspace, {"gold": 5}, {"gold": ["6 km", 7]}, more=more)
    assert judges == [
        NumericJudge(answers=("5",), relative=0.01),
        NumericJudge(answers=("6 km", "7"), relative=0.01),
    ]


def test_a_default_judge_may_hold_the_options_of_all_tasks(workspace):
    more = "judge: {kind: choice, choices: {yes: it is spam, no: it is fine}}\n"
    [judge] = read(workspace, {"answer": "No"}, more=more)
    assert judge == ChoiceJudge(answers=("no",), choices={"yes": "it is spam", "no": "it is fine"})


def test_a_table_gives_answers_as_text_or_as_a_list(workspace):
    rows = [f'{n},"Question {n}?","[""{n}"", ""{n}.0""]"' for n in range(6)]
    rows += [f"{n},Question {n}?,{n}" for n in range(6, 12)]
    workspace.write("t.csv", "\n".join(["id,question,gold", *rows]) + "\n")
    more = "judge: {kind: numeric}\nfields: {task: question, answers: gold}\n"
    workspace.spec(more, tasks="t.csv")
    splits = workspace.load().plan.splits
    judges = {item.id: item.judge for part in (splits.train, splits.val, splits.test)
              for item in part}  # fmt: skip
    assert judges["3"] == NumericJudge(answers=("3", "3.0"))
    assert judges["9"] == NumericJudge(answers=("9",))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"judge": {"kind": "answer"}}, "judge.answers is missing; give them as"),
        ({"judge": {"kind": "answer", "answers": []}}, "judge.answers is missing"),
        ({"judge": {"kind": "answer", "answers": [" "]}}, "answer answer 1: it is blank (' ')"),
        ({"judge": {"kind": "answer", "answers": [True]}}, "judge.answers: True is not a text"),
        ({"judge": {"kind": "answer", "answers": [0.5]}}, "judge.answers: 0.5 is not a text"),
        ({"judge": {"kind": "answer", "answer": "x"}}, "did you mean 'answers'?"),
        ({"judge": {"kind": "answer", "answers": "x"}, "answers": "y"},
         "judge.answers: 'x' differs from the record's own answers 'y'; keep one"),
        ({"judge": {"kind": "exact", "answer": "x"}, "answers": "y"}, "keep one"),
        ({"judge": {"kind": "numeric", "answers": "many"}}, "'many' is not one number; write it"),
        ({"judge": {"kind": "numeric", "answers": {"a": 1}}}, "is not a number or text"),
        ({"judge": {"kind": "numeric", "answers": 1, "absolute": -1}}, "judge.absolute: -1 is not"),
        ({"judge": {"kind": "numeric", "answers": 1, "relative": "x"}},
         "judge.relative: 'x' is not a number from 0; write it like 0.01"),
        ({"judge": {"kind": "numeric", "answers": 1, "relative": True}}, "judge.relative: True"),
        ({"judge": {"kind": "numeric", "answers": 1, "partial": 1}}, "judge.partial: 1 is not"),
        ({"judge": {"kind": "numeric", "answers": 1, "tolerance": 1}}, "judge.tolerance is not a"),
        ({"judge": {"kind": "choice", "answers": "Z"}},
         "choice answer 'Z' is none of the labels A, B, C"),
        ({"judge": {"kind": "choice", "answers": "A", "choices": ["x"]}}, "at least two options"),
        ({"judge": {"kind": "choice", "answers": "A", "choices": "xy"}},
         "judge.choices: 'xy' is neither a list of texts nor an object of them"),
        ({"judge": {"kind": "choice", "answers": "A", "choices": [["x"], "y"]}}, "is neither a"),
        ({"task": OPTIONS, "judge": {"kind": "choice", "answers": "D"}},
         "choice answer 'D' is none of the labels A, B, C; give one of them"),
    ],
)  # fmt: skip
def test_each_misuse_is_named_with_its_fix(workspace, faults, bad, message):
    bad = {"task_id": "bad", "task": "Question?"} | bad
    workspace.write_records("tasks.jsonl", [*(record(n) for n in range(12)), bad])
    text = "\n".join(faults())
    assert "tasks.jsonl:13: task 'bad': " in text
    assert message in text


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("{kind: numeric, relative: big}", "spec.yaml:4: judge.relative: 'big' is not a number"),
        ("{kind: choice, choices: [one]}", "spec.yaml:4: choice needs at least two options"),
        ("{kind: answer, answer: x}", "spec.yaml:4: judge.answer is not a known key"),
        ("{kind: numeric, answers: x}", "spec.yaml:4: numeric answer 1: 'x' is not one number"),
    ],
)
def test_a_wrong_default_judge_is_named_at_its_line(workspace, faults, judge, message):
    workspace.spec(f"judge: {judge}\n")
    assert message in "\n".join(faults())


# --- what is suspicious


def items(*judges: Judge, task: str = "Question {}?") -> Splits:
    return Splits(
        train=tuple(
            Item(id=f"t-{n}", prompt=TaskPrompt(task=task.format(n)), judge=judge)
            for n, judge in enumerate(judges)
        )
    )


def test_a_constant_answer_is_found_for_every_kind():
    number = ["5", "5.0", "5.00"] * 3 + ["1", "2"]
    [finding] = lint(items(*(NumericJudge(answers=(one,)) for one in number)))
    assert finding.startswith("9 of 11 tasks with an expected answer accept '5'")
    [finding] = lint(items(*(AnswerJudge(answers=("Yes",)) for _ in range(10))))
    assert finding.startswith("10 of 10 tasks with an expected answer accept 'yes'")
    letters = dict.fromkeys("ABC", "")
    labels = ["B"] * 8 + ["A", "C"]
    [finding] = lint(items(*(ChoiceJudge(answers=(one,), choices=letters) for one in labels)))
    assert finding.startswith("8 of 10 tasks with an expected answer accept 'b'")


def test_options_that_a_task_does_not_show_are_found():
    judges = [ChoiceJudge(answers=(one,), choices={"A": "Rome", "B": "Bonn"}) for one in "AB"]
    [finding] = lint(items(*judges))
    assert "are judged by options that they do not show" in finding
    assert lint(items(*judges, task="Is {} in\nA) Rome\nB) Bonn")) == []


def test_tasks_that_give_their_answer_away_are_found():
    judges = [AnswerJudge(answers=("Rome",)), NumericJudge(answers=("41",))]
    [finding] = lint(items(*judges, task="Which of {}? Repeat:\n41 Rome"))
    assert "pass with an answer that only repeats the task" in finding


@pytest.mark.parametrize(
    ("judge", "answers"),
    [
        (ExactJudge(answer="a"), ("a",)),
        (ExactJudge(answer=("a", "b")), ("a", "b")),
        (AnswerJudge(answers=("a",)), ("a",)),
        (NumericJudge(answers=("1",)), ("1",)),
        (ChoiceJudge(answers=("B",), choices={"A": "x", "B": "y"}), ("B", "y")),
        (FunctionJudge(function="f", revision="1", task={"answer": "a", "answers": ["b", 3]}),
         ("a", "b")),
        (AddedJudge(kind="other", answers=["a"]), ("a",)),
    ],
)  # fmt: skip
def test_the_expected_answers_of_every_kind_are_known(judge, answers):
    assert expected_answers(judge) == answers
