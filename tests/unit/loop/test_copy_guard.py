"""The copy guard: a rule is not a training task's own text."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_run import make_plan

from skillopt.domain.item import (
    Check,
    ExactJudge,
    FunctionJudge,
    Item,
    RuleJudge,
    Splits,
    TaskPrompt,
)
from skillopt.domain.plan import RunPlan
from skillopt.loop import copy_guard
from skillopt.loop.copy_guard import copied_from

LONG = "Write to Mrs Hildegard Ostrowski about the broken dishwasher in her second flat"


def task(name: str, text: str, answer: str = "no", **prompt: str) -> Item:
    return Item(id=name, prompt=TaskPrompt(task=text, **prompt), judge=ExactJudge(answer=answer))


def ruled(name: str, text: str, *literals: str) -> Item:
    checks = tuple(Check(op="contains", arg=literal) for literal in literals)
    return Item(id=name, prompt=TaskPrompt(task=text), judge=RuleJudge(checks=checks))


def plan_of(*train: Item, **settings: object) -> RunPlan:
    val = task("val", "The val task is about seven purple elephants in a small green garden")
    return make_plan(splits=Splits(train=train, val=(val,)), settings=settings)


PLAN = plan_of(
    task("a", LONG),
    task(
        "b", "Summarise the report.", context="Revenue rose by nine per cent in the third quarter"
    ),
    task("c", "Which river flows through it?", answer="the upper Vistula river"),
    task("d", "Which invoice is open?", answer="INV-20814"),
    task("e", "Who said so?", answer="Featherstonehaugh"),
    task("f", "Yes or no?", answer="yes"),
    task("g", "Pay the invoice QX-88213-ZT by Monday."),
)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("- Always be brief and answer in plain words that anybody understands.", ()),
        (f"- {LONG}.", ("a",)),
        ("Write to mrs hildegard OSTROWSKI, about the *broken* dishwasher", ("a",)),
        ("- E.g. revenue rose by nine per cent in the third quarter.", ("b",)),
        ("Write to the tenant about the broken dishwasher in her flat", ()),
        ("- The answer is the upper Vistula River.", ("c",)),
        ("- Rivers have an upper part.", ()),
        ("- If unsure say inv-20814.", ("d",)),
        ("- Mr. Featherstonehaugh says so.", ("e",)),
        ("- Answer yes or no.", ()),
        ("- Invoices look like `QX-88213-ZT`.", ("g",)),
        (f"{LONG}. The upper Vistula river.", ("a", "c")),
        ("", ()),
    ],
)
def test_tasks_are_named_whose_sentences_answers_or_codes_are_repeated(text, items):
    assert copied_from(text, PLAN) == items


def test_what_the_document_already_says_never_counts():
    text = f"{LONG}. Say inv-20814. See QX-88213-ZT."
    assert copied_from(text, PLAN, besides=f"# Skill\n\n{LONG}\nINV-20814 and QX-88213-ZT\n") == ()
    assert copied_from(text, PLAN, besides=LONG) == ("d", "g")


@pytest.mark.parametrize("field", [{"answer": "the upper Vistula river"},
                                   {"answers": ["no", "the upper Vistula river"]}])  # fmt: skip
def test_the_answers_in_the_record_of_a_function_judge_are_its_own(field):
    judge = FunctionJudge(function="m:f", revision="1", task={"task": "Which?", **field})
    asked = Item(id="f", prompt=TaskPrompt(task="Which?"), judge=judge)
    plan = plan_of(asked, task("other", "Say no."))
    assert copied_from("Always say the upper Vistula river.", plan) == ("f",)


def test_held_out_tasks_are_not_looked_at():
    text = "The val task is about seven purple elephants in a small green garden"
    assert copied_from(text, PLAN) == ()


def test_what_more_than_half_of_the_tasks_share_is_nobodys_own():
    frame = "You are given an email of a customer and must answer it politely:"
    shared = [task(f"t{n}", f"{frame} letter {n}") for n in range(3)]
    other = [task("x", "Something else entirely is asked for here, in other words altogether now")]
    assert copied_from(f"- {frame}", plan_of(*shared, *other)) == ()
    assert copied_from(f"- {frame}", plan_of(*shared[:1], *other)) == ("t0",)
    assert copied_from(f"- {frame}", plan_of(shared[0])) == ("t0",), "one task shares with nobody"


def test_an_answer_that_most_tasks_have_is_nobodys_own():
    same = [task(f"t{n}", f"Question {n}?", answer="none of the above") for n in range(3)]
    assert copied_from("- Else say none of the above.", plan_of(*same)) == ()


def test_what_a_rule_judge_looks_for_may_be_taken_over_literally():
    literal = "Kind regards, your friends at the support desk of Example Limited"
    text = f"Answer the mail and end it with exactly this line: {literal}"
    plan = plan_of(ruled("a", text, literal), task("b", "Another one."))
    assert copied_from(f'- End with exactly this line: "{literal}".', plan) == ()
    assert copied_from(f"- {literal}", plan) == ()
    sentence = "and never forget the three attachments of the second meeting"
    plan = plan_of(ruled("a", f"{text} {sentence}", literal), task("b", "Another one."))
    assert copied_from(f"- {literal} {sentence}", plan) == ("a",), "the rest is still its own"


def test_system_prompts_and_preferences_are_free_to_repeat():
    contract = "Answer as one JSON object with the keys subject, body and tone, nothing else"
    plan = plan_of(task("a", contract, system=contract), task("b", "Other."))
    assert copied_from(contract, plan) == ()
    plan = plan_of(task("a", contract), task("b", "Other."), preferences=contract)
    assert copied_from(contract, plan) == ()
    assert copied_from(contract, plan_of(task("a", contract), task("b", "Other."))) == ("a",)


WORDS = st.lists(st.sampled_from(["red", "green", "one", "two", "three", "four"]), max_size=30)


def test_a_code_that_several_tasks_have_is_a_word_of_the_domain():
    items = [task(f"t{n}", f"Fill in form F-2024-77 for case {n}.") for n in range(9)]
    assert copied_from("- Use form F-2024-77.", plan_of(*items)) == ()
    others = [task(f"o{n}", "Other.") for n in range(6)]
    assert copied_from("- Use form F-2024-77.", plan_of(*items[:2], *others)) == ("t0", "t1")


@given(WORDS, WORDS, WORDS)
def test_a_copy_is_found_exactly_if_eight_words_in_a_row_are_new_and_the_tasks(own, written, known):
    def runs(words: list[str]) -> set[tuple[str, ...]]:
        return {tuple(words[n : n + 8]) for n in range(len(words) - 7)}

    plan = plan_of(task("a", " ".join(own) or "-"), task("b", "Other."))
    expected = bool(runs(own) & runs(written) - runs(known))
    found = copied_from(", ".join(written), plan, besides=" ".join(known))
    assert found == (("a",) if expected else ())


def test_a_thousand_long_tasks_are_searched():
    rng = random.Random(7)
    words = [f"word{n}" for n in range(2_000)]
    items = [
        task(f"t{n}", "Do it.", context=" ".join(rng.choices(words, k=300))) for n in range(1_000)
    ]
    plan = plan_of(*items)
    copied = " ".join(items[613].prompt.context.split()[100:110])
    for _ in range(20):
        assert copied_from(f"- Remember: {copied}", plan) == ("t613",)


def test_a_training_set_is_read_once_however_many_texts_are_looked_at(monkeypatch):
    """With thousands of tasks reading them for each proposal would take minutes."""
    read: list[int] = []
    of = copy_guard._Tasks.of

    def counted(train: Sequence[Item]) -> copy_guard._Tasks:
        read.append(len(train))
        return of(train)

    monkeypatch.setattr(copy_guard._Tasks, "of", counted)
    plan = plan_of(*(ruled(f"t{n}", f"{LONG} {n}", f"say number {n} aloud") for n in range(9)))
    for _ in range(3):
        copied_from("- Be brief.", plan)
    assert read == [9]


def test_nothing_is_found_across_two_texts_of_a_task():
    plan = plan_of(task("a", "one two three four", context="five six seven eight"), task("b", "no"))
    assert copied_from("one two three four five six seven eight", plan) == ()
