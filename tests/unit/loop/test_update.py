from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from loop_values import edit
from scripted_run import SKILL
from stage_values import SECRET, Bench, group

from skillopt.domain.changes import Change
from skillopt.domain.events import Proposed, Skipped
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.notes import notes_in
from skillopt.domain.skill import SkillDocument
from skillopt.loop.update import update

ADDED = edit("Name your sources.")


def begun(*edits: Change, **more: Any) -> Bench:
    """Give a step that selected these edits."""
    return Bench(**more).selected(*edits)


def proposed(bench: Bench) -> Proposed:
    found = bench.look(update).event
    assert isinstance(found, Proposed), found
    return found


def skipped(bench: Bench) -> Skipped:
    found = bench.look(update).event
    assert isinstance(found, Skipped), found
    return found


def test_a_changed_document_is_a_candidate():
    bench = begun(ADDED)
    found = proposed(bench)
    assert found.text == f"{SKILL}\nName your sources.\n"
    assert (found.skill, found.parent) == (text_hash(found.text), bench.state.current)
    assert [report.status for report in found.reports] == ["applied_append"]
    assert (found.how, found.source, found.memory) == ("edits", "step", None)


def test_without_edits_the_step_is_skipped():
    found = skipped(begun())
    assert (found.reason, found.detail) == ("no_edits", "no edit was proposed")


def test_a_step_whose_edits_were_all_blocked_says_so():
    bench = begun(gradient={"copy_guard": "block"})
    bench.reflected(group(0, blocked=(edit(SECRET), edit(SECRET)))).merged(blocked=(edit(SECRET),))
    found = skipped(bench)
    assert found.reason == "no_edits"
    assert found.detail == "the copy guard took out all 3 that repeat a training task's text"


@pytest.mark.parametrize(
    "no_op",
    [
        edit("x", "replace", "a text that is not there"),
        edit("Be brief.", "replace", "Be brief."),
        edit("", "append"),
        edit("Be brief. Café.  ", "replace", "Be brief. Café."),
    ],
    ids=["missing target", "same text", "nothing", "white space at a line's end"],
)
def test_a_document_that_did_not_change_is_dropped_before_any_rollout(no_op):
    found = skipped(begun(no_op))
    assert found.reason == "no_change"
    assert len(found.reports) == 1, "what became of the edit is still told"


def test_a_text_that_was_rejected_before_is_dropped():
    bench = begun(ADDED)
    candidate = proposed(bench)
    bench.state = replace(bench.state, rejected=frozenset({candidate.skill}))
    found = skipped(bench)
    assert found.reason == "already_rejected"
    assert candidate.skill[:16] in found.detail
    assert found.reports == candidate.reports


def test_an_edit_that_cannot_be_applied_does_not_stop_the_others():
    found = proposed(begun(edit("x", "delete", "not there"), ADDED))
    assert [report.status for report in found.reports] == [
        "skipped_target_missing",
        "applied_append",
    ]


def test_a_candidate_that_repeats_a_training_task_is_dropped_where_copies_are_blocked():
    assert skipped(begun(edit(SECRET), gradient={"copy_guard": "block"})).reason == "copied"
    assert proposed(begun(edit(SECRET))).copied_from == ("secret",)


# --- two documents


def test_edits_go_to_the_document_they_name():
    both = {"settings": {"evolve": "both"}, "memory": "# Lessons\n"}
    found = proposed(begun(ADDED, edit("Sign it.", document="memory"), **both))
    assert found.text == f"{SKILL}\nName your sources.\n"
    assert found.memory == "# Lessons\n\nSign it.\n"


def test_a_document_that_does_not_evolve_stays_as_it_is():
    only_memory = {"settings": {"evolve": "memory"}, "memory": "# Lessons\n"}
    found = proposed(begun(ADDED, edit("Sign it.", document="memory"), **only_memory))
    assert found.text == SKILL
    assert found.memory == "# Lessons\n\nSign it.\n"
    assert [report.applied for report in found.reports] == [False, True]


# --- notes


def appendix(text: str | None) -> tuple[str, ...]:
    assert text is not None
    return notes_in(SkillDocument.parse(text).appendix)


def test_edits_and_notes_are_one_candidate():
    found = proposed(begun(ADDED).noted("Check the units."))
    assert "Name your sources." in SkillDocument.parse(found.text).body
    assert appendix(found.text) == ("Check the units.",)


def test_notes_alone_are_a_candidate():
    found = proposed(begun().noted("Check the units."))
    assert appendix(found.text) == ("Check the units.",)
    assert SkillDocument.parse(found.text).body.strip() == SKILL.strip()
    assert (found.how, found.reports) == ("edits", ())


def test_notes_make_a_candidate_where_every_edit_failed():
    found = proposed(begun(edit("x", "delete", "not there")).noted("Check the units."))
    assert appendix(found.text) == ("Check the units.",)
    assert [report.applied for report in found.reports] == [False]


def test_an_appendix_without_news_is_no_candidate():
    with_appendix = proposed(begun().noted("Check the units.")).text
    bench = begun(skill=with_appendix).noted(before=("Check the units.",))
    assert skipped(bench).reason == "no_edits"


def test_a_condensed_appendix_replaces_the_one_before():
    with_appendix = proposed(begun().noted("Check the units.", "Check all units.")).text
    bench = begun(skill=with_appendix).noted(before=("Check units.",), status="consolidated")
    assert appendix(proposed(bench).text) == ("Check units.",)


def test_an_appendix_that_could_not_be_condensed_keeps_its_new_notes():
    found = proposed(begun().noted("One.", "Two.", status="fallback", problem="no JSON"))
    assert appendix(found.text) == ("One.", "Two.")


def test_notes_go_to_the_memory_where_only_that_evolves():
    bench = begun(settings={"evolve": "memory"}, memory="# Lessons\n").noted("Check the units.")
    found = proposed(bench)
    assert found.text == SKILL
    assert appendix(found.memory) == ("Check the units.",)


def test_an_unchanged_text_with_its_notes_is_known_when_it_comes_again():
    first = proposed(begun(ADDED).noted("Check the units."))
    bench = begun(ADDED).noted("Check the units.")
    bench.state = replace(bench.state, rejected=frozenset({first.skill}))
    assert skipped(bench).reason == "already_rejected"
