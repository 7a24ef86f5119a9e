"""Thoughts in the text of an answer are taken off it, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.backends.thoughts import without_thoughts


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Paris.", "Paris."),
        ("<think>\nFrance …\n</think>\n\nParis.", "Paris."),
        ("<think></think>Paris.", "Paris."),
        ("<think>\n\n</think>\n\nParis.", "Paris."),
        ("\n <think>a</think> Paris.", "Paris."),
        ("<think>a</think>\n<think>b</think>\nParis.", "Paris."),
        ("<think>France, so", ""),
        ("<think>", ""),
        ("<think>a</think>", ""),
        ("France …\n</think>\n\nParis.", "Paris."),
        ("France …</think>\nParis.", "Paris."),
        ("France …\n</think>", ""),
        ("a\n</think>\n<think>b</think>Paris.", "Paris."),
    ],
)
def test_an_answer_is_what_follows_the_thoughts(text: str, answer: str) -> None:
    assert without_thoughts(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "Close the block with `</think>` before you answer.",
        "Write <think> first, and </think> at its end.\n",
        "First words.\n<think>an example</think>\nLast words.",
        "<thinking>a</thinking>b",
        "<thinker>",
        "",
        "  kept as it is \n",
    ],
)
def test_an_answer_that_speaks_of_the_tags_is_left_alone(text: str) -> None:
    assert without_thoughts(text) == text


@given(st.text(), st.text(alphabet="abc .\n"))
def test_thoughts_never_remain(thoughts: str, answer: str) -> None:
    inner = thoughts.replace("</think>", "")
    assert without_thoughts(f"<think>{inner}</think>{answer}") == answer.lstrip()
