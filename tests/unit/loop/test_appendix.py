from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_run import SKILL
from stage_values import Bench, group

from skillopt.domain.notes import render_notes
from skillopt.domain.skill import SkillDocument
from skillopt.loop.appendix import note
from skillopt.loop.decision import StageResult


def with_notes(*notes: str, text: str = SKILL) -> str:
    return SkillDocument.parse(text).with_region("APPENDIX", render_notes(notes)).render()


class Notes(Bench):
    def __init__(self, *noted: str, threshold: int = 0, source: str = "both", **more: Any) -> None:
        optimizer = {
            "use_skill_aware_reflection": True,
            "skill_aware_consolidate_threshold": threshold,
            "skill_aware_appendix_source": source,
        }
        super().__init__(optimizer=optimizer, **more)
        self.reflected(group(0, notes=noted))


def test_notes_of_all_groups_are_collected_in_order():
    notes = Notes().reflected(
        group(0, notes=("Check the units.",)),
        group(0, notes=("End with a full stop.",), kind="success"),
        group(1, notes=("check the  units",), kind="contrast"),
    )
    found = notes.look(note).event
    assert found.notes == found.added == ("Check the units.", "End with a full stop.")
    assert (found.status, found.problem) == ("kept", "")


def test_notes_of_successes_are_left_out_where_only_failures_count():
    notes = Notes(source="failure_only").reflected(
        group(0, notes=("From a success.",), kind="success"),
        group(0, notes=("From a failure.",)),
        group(0, notes=("From a contrast.",), kind="contrast"),
    )
    assert notes.look(note).event.added == ("From a failure.", "From a contrast.")


def test_a_step_adds_a_bounded_number_of_notes_and_says_so():
    found = Notes(*(f"Note {i}." for i in range(25))).look(note).event
    assert found.added == tuple(f"Note {i}." for i in range(20))
    assert found.problem == "5 notes beyond 20 are left out"


def test_notes_that_are_there_already_are_not_added_again():
    notes = Notes("check the units", "Sign it.", skill=with_notes("Check the units."))
    found = notes.look(note).event
    assert found.notes == ("Check the units.", "Sign it.")
    assert found.added == ("Sign it.",)


def test_without_new_notes_the_appendix_stays_and_nobody_is_asked():
    before = tuple(f"Note {i}." for i in range(5))
    notes = Notes("note 3", threshold=2, skill=with_notes(*before))
    found = notes.look(note)
    assert found.wanted == ()
    assert (found.event.notes, found.event.added, found.event.status) == (before, (), "kept")


def test_notes_belong_to_the_memory_where_only_that_evolves():
    notes = Notes(
        "Sign it.",
        settings={"evolve": "memory"},
        memory=with_notes("Check the units.", text="# Lessons\n"),
    )
    assert notes.look(note).event.notes == ("Check the units.", "Sign it.")


# --- condensing


def test_no_threshold_never_condenses():
    assert Notes(*[f"Note {i}." for i in range(30)]).look(note).wanted == ()


def test_notes_up_to_the_threshold_are_not_condensed():
    assert Notes("One.", "Two.", threshold=2).look(note).wanted == ()


def test_more_notes_than_the_threshold_are_condensed():
    notes = Notes("Check the units.", "Check the currency.", threshold=2, skill=with_notes("Sign."))
    assert json.loads(notes.prompt(note)["Notes"]) == [
        "Sign.",
        "Check the units.",
        "Check the currency.",
    ]
    reply = {"appendix_notes": ["Sign.", "Check units and currency."]}
    found = notes.reply(note, reply).event
    assert found.notes == ("Sign.", "Check units and currency.")
    assert found.added == ("Check units and currency.",)
    assert found.status == "consolidated"


@pytest.mark.parametrize(
    "rows",
    [
        ["One.", "Two.", "Three."],
        ["One.", "Two.", "Three.", "Four."],
        ["A", "B", "C"],
    ],
    ids=["the same", "more", "as many"],
)
def test_notes_that_did_not_become_fewer_stay_as_they_were(rows):
    notes = Notes("One.", "Two.", "Three.", threshold=2)
    found = notes.reply(note, {"appendix_notes": rows}).event
    assert found.notes == found.added == ("One.", "Two.", "Three.")
    assert found.status == "fallback"
    assert found.problem == f"condensing 3 notes gave {len(rows)}"


def test_notes_that_only_repeat_each_other_count_once():
    notes = Notes("One.", "Two.", "Three.", threshold=2)
    found = notes.reply(note, {"appendix_notes": ["One.", "one", "ONE!"]}).event
    assert (found.notes, found.status) == (("One.",), "consolidated")


@pytest.mark.parametrize(
    "text", ["", "none", '{"appendix_notes": []}', '{"appendix_notes": [null, 3]}', "{" * 999]
)
def test_an_unusable_reply_loses_no_note(text):
    notes = Notes("One.", "Two.", "Three.", threshold=2)
    found = notes.reply(note, text)
    if found.wanted:
        found = notes.reply(note, text)
    assert found.event.notes == ("One.", "Two.", "Three.")
    assert found.event.status == "fallback"
    assert found.event.problem


def test_a_call_that_was_given_up_notes_nothing():
    notes = Notes("One.", "Two.", "Three.", threshold=2)
    assert notes.give_up(note) == StageResult(given_up="timeout")
