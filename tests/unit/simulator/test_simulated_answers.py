"""Judge, analyst and target understand each other where an answer is expected."""

from __future__ import annotations

import pytest
from simulated_run import document, simulated_run, val_scores

from skillopt.domain.item import (
    AnswerJudge,
    ChoiceJudge,
    ExactJudge,
    Item,
    Judge,
    NumericJudge,
    Splits,
    TaskPrompt,
)

CITIES = ("Oslo", "Turin", "Lyon", "Ghent", "Porto", "Graz", "Malmo", "Cork")
OPTIONS = {"A": "Vienna", "B": "Delft"}


def answer(number: int) -> tuple[str, Judge]:
    return f"The head office of firm {number} is {CITIES[number]}.", AnswerJudge(
        answers=(CITIES[number],)
    )


def exact(number: int) -> tuple[str, Judge]:
    return f"The head office of firm {number} is {CITIES[number]}.", ExactJudge(
        answer=CITIES[number]
    )


def numeric(number: int) -> tuple[str, Judge]:
    return f"There are 1{number},500 desks in the head office of firm {number}.", NumericJudge(
        answers=(f"1{number}500",), relative=0.01
    )


def choice(number: int) -> tuple[str, Judge]:
    label = "AB"[number % 2]
    return f"The head office of firm {number} is {OPTIONS[label]}.", ChoiceJudge(
        answers=(label,), choices=OPTIONS
    )


QUESTIONS = {
    answer: "Where is the head office of firm {}?",
    exact: "Where is the head office of firm {}?",
    numeric: "How many desks does the head office of firm {} have?",
    choice: "Where is the head office of firm {}?\nA) Vienna\nB) Delft",
}


def splits(kind) -> Splits:
    items = []
    for number in range(8):
        context, judge = kind(number)
        prompt = TaskPrompt(task=QUESTIONS[kind].format(number), context=context)
        items.append(Item(id=f"q-{number}", prompt=prompt, judge=judge))
    return Splits(train=tuple(items[:4]), val=tuple(items[4:7]), test=tuple(items[7:]))


@pytest.mark.parametrize("kind", [answer, exact, choice])
def test_that_the_answer_stands_alone_is_learnt_from_failures(kind):
    run = simulated_run(splits=splits(kind))
    first, best = val_scores(run)
    assert (first, best) == (0.0, 1.0)
    assert any(
        rule in document(run)
        for rule in ("the answer alone", "only the answer itself", "nothing but the answer")
    )


def test_a_number_within_a_sentence_is_right_from_the_start():
    first, best = val_scores(simulated_run(splits=splits(numeric)))
    assert (first, best) == (1.0, 1.0)
