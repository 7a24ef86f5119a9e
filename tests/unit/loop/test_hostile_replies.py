"""Whatever a model answers, each stage ends in a record of it: no crash, no third call."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from loop_values import edit
from merge_values import rule
from stage_values import Bench, Stage, group, suggestion

from skillopt.domain.events import Event, encode_event
from skillopt.loop.aggregate import aggregate
from skillopt.loop.appendix import note
from skillopt.loop.control import choose_budget
from skillopt.loop.select import select
from skillopt.loop.update import update

EDITS = tuple(rule(f"Rule {number}.", f"t{number}") for number in range(3))
MARKED = "<!-- APPENDIX_START -->\nx\n<!-- APPENDIX_END -->"
VALUES: tuple[object, ...] = (None, True, -1, 1e300, "", "x", [], {}, [None], [[]], [{}], [MARKED])


def merging() -> Bench:
    return Bench().reflected(group(0, EDITS[0]), group(1, EDITS[1]))


def budgeting() -> Bench:
    return Bench(optimizer={"lr_control_mode": "autonomous"}).reflected().merged(*EDITS)


def ranking() -> Bench:
    return Bench().merged(*EDITS)


def rewriting() -> Bench:
    mode = {"skill_update_mode": "rewrite_from_suggestions"}
    return Bench(optimizer=mode).selected(suggestion("Ask for headings."))


def compressing() -> Bench:
    return Bench(optimizer={"max_skill_tokens": 20}).selected(edit("x" * 100))


def condensing() -> Bench:
    bench = Bench(optimizer={"skill_aware_consolidate_threshold": 1})
    return bench.reflected(group(0, notes=("One.", "Two.")))


STAGES: dict[str, tuple[Callable[[], Bench], Stage, str]] = {
    "merge": (merging, aggregate, "edits"),
    "budget": (budgeting, choose_budget, "learning_rate"),
    "rank": (ranking, select, "selected_indices"),
    "rewrite": (rewriting, update, "new_skill"),
    "compress": (compressing, update, "new_skill"),
    "condense": (condensing, note, "appendix_notes"),
}


def replies(key: str) -> list[str]:
    good = {
        "edits": [{"op": "append", "content": "Use headings."}],
        "learning_rate": 1,
        "selected_indices": [0],
        "new_skill": "# Greeter\n",
        "appendix_notes": ["One and two."],
    }[key]
    whole = json.dumps({"reasoning": "why", key: good})
    return [
        "",
        "I would rather not.",
        f"Sure!\n```json\n{whole}\n```\nDone.",
        whole[: len(whole) // 2],
        f"{whole}\n{whole}",
        f'{whole}\n{{"other": 1}}',
        "null",
        "[]",
        "{",
        "{" * 3_000,
        "[" * 3_000,
        "x" * 1_000_000,
        json.dumps({key: "y" * 1_000_000}),
        json.dumps({key: "\ud800"}),
        json.dumps({key: MARKED}),
        *(json.dumps({key: value}) for value in VALUES),
    ]


def settled(bench: Bench, stage: Stage, text: str) -> tuple[Event, int]:
    """Answer every call of a stage with the same text."""
    calls = 0
    while bench.look(stage).wanted:
        bench.reply(stage, text)
        calls += 1
        assert calls <= 2
    event = bench.look(stage).event
    assert event is not None
    return event, calls


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_ends_in_a_record_whatever_the_reply(name):
    begin, stage, key = STAGES[name]
    for text in replies(key):
        event, calls = settled(begin(), stage, text)
        assert calls, "the reply was asked for"
        assert encode_event(event), text[:60]


@pytest.mark.parametrize("name", STAGES)
def test_prose_and_a_fence_around_a_reply_do_no_harm(name):
    begin, stage, key = STAGES[name]
    plain = replies(key)[2].partition("```json\n")[2].partition("\n```")[0]
    fenced, _ = settled(begin(), stage, replies(key)[2])
    bare, calls = settled(begin(), stage, plain)
    assert (fenced, calls) == (bare, 1)


@pytest.mark.parametrize("name", STAGES)
def test_an_empty_reply_is_told_in_the_record(name):
    begin, stage, _ = STAGES[name]
    event, calls = settled(begin(), stage, "")
    assert calls == 2
    assert "asked again" in encode_event(event)
