from __future__ import annotations

import random
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.config.near_duplicates import near_duplicates
from skillopt.domain.item import ExactJudge, Item, TaskPrompt

JUDGE = ExactJudge(answer="x")
WORDS = [f"word{number}" for number in range(400)]


def item(name: str, task: str, context: str = "") -> Item:
    return Item(id=name, prompt=TaskPrompt(task=task, context=context), judge=JUDGE)


def text(seed: int, length: int = 100) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=length))


def pairs(train: list[Item], val: list[Item], test: list[Item] | None = None) -> set:
    found = near_duplicates({"train": train, "val": val, "test": test or []})
    return {(pair.item.id, pair.split, pair.other.id, pair.other_split) for pair in found}


def test_tasks_that_differ_in_case_punctuation_and_spaces_are_near_duplicates():
    first = item("a", "Add the numbers, please: 1 and 2.")
    second = item("b", "add  THE numbers please 1 and 2")
    assert pairs([first], [second]) == {("b", "val", "a", "train")}


def test_one_word_of_many_makes_no_other_task_but_one_of_few_does():
    assert pairs([item("a", text(1))], [item("b", text(1) + " more")])
    assert not pairs([item("a", "Add page one.")], [item("b", "Add page two.")])


def test_the_same_instruction_on_another_text_is_another_task():
    assert not pairs(
        [item("a", "Sum up the text.", text(1))], [item("b", "Sum up the text.", text(2))]
    )
    assert pairs([item("a", "Sum up the text.", text(1))], [item("b", "Sum up the text!", text(1))])


def test_another_question_on_the_same_text_is_another_task():
    assert not pairs(
        [item("a", "Who wrote it and when?", text(1, 1000))],
        [item("b", "What does it cost today?", text(1, 1000))],
    )


def test_tasks_of_one_split_and_exact_copies_are_not_reported():
    assert not pairs([item("a", text(1)), item("b", text(1) + " more")], [])
    assert not pairs([item("a", text(1))], [item("b", text(1))])


def test_an_exact_copy_does_not_hide_a_near_duplicate():
    train = [item("copy", text(1)), item("near", text(1) + " more")]
    assert pairs(train, [item("b", text(1))]) == {("b", "val", "near", "train")}


def test_each_task_is_reported_once_whatever_the_number_of_its_likes():
    train = [item(f"t{n}", f"{text(1)} {WORDS[n]}") for n in range(20)]
    val = [item(f"v{n}", f"{text(1)} {WORDS[n + 50]}") for n in range(5)]
    found = pairs(train, val, [item("e", f"{text(1)} other")])
    assert {name for name, *_ in found} == {"v0", "v1", "v2", "v3", "v4", "e"}
    assert len(found) == 6


def test_texts_without_words_or_spaces_are_compared():
    assert not pairs([item("a", "???")], [item("b", "!!!")])
    sentence = "請把所有數字加起來然後寫在最後一行並且不要寫任何其他東西謝謝"
    assert pairs([item("a", sentence)], [item("b", sentence + "。")])
    assert not pairs([item("a", sentence)], [item("b", "今天天氣很好我們去公園散步吧")])


def alike(one: str, two: str) -> bool:
    sets = []
    for words in (one.split(), two.split()):
        count = max(len(words) - 2, 1)
        sets.append({tuple(words[start : start + 3]) for start in range(count)})
    first, second = sets
    return len(first & second) * 10 >= 9 * len(first | second)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_index_finds_exactly_what_comparing_all_pairs_finds(seed):
    rng = random.Random(seed)
    base = [rng.choices(WORDS[:30], k=rng.randint(1, 60)) for _ in range(4)]

    def variant() -> str:
        words = list(rng.choice(base))
        for _ in range(rng.randint(0, 2)):
            words[rng.randrange(len(words))] = rng.choice(WORDS[:40])
        return " ".join(words)

    train = [item(f"t{n}", variant()) for n in range(8)]
    val = [item(f"v{n}", variant()) for n in range(8)]
    expected = {
        two.id
        for one, two in product(train, val)
        if one.prompt != two.prompt and alike(one.prompt.task, two.prompt.task)
    }
    assert {name for name, *_ in pairs(train, val)} == expected


def test_thousands_of_tasks_from_one_template_are_told_apart():
    def task(number: int) -> str:
        return " ".join([*WORDS[:30], f"item {number}", *WORDS[30:34]])

    train = [item(f"t{n}", task(n)) for n in range(1_000)]
    val = [item(f"v{n}", task(n)) for n in range(1_000, 2_000)]
    assert pairs(train, val) == set()
