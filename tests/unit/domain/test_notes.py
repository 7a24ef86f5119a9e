from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.notes import add_notes, notes_in, render_notes
from skillopt.domain.skill import SkillDocument

NOTES = st.lists(
    st.text(max_size=12) | st.sampled_from(["- a", "* b", "#", "A.", "a", "<!-- KEEP 1 -->"])
)


@pytest.mark.parametrize(
    ("appendix", "notes"),
    [
        (None, ()),
        ("", ()),
        ("\n- a\n- b\n", ("a", "b")),
        ("\r\n- a\r\n  goes on\r\n* b\r\n", ("a goes on", "b")),
        ("## Reminders\n\nA paragraph\nof two lines.\n\n- a\n", ("A paragraph of two lines.", "a")),
        ("- a\n\nnot of a\n", ("a", "not of a")),
        ("-\n- \n- a\n", ("a",)),
    ],
)
def test_notes_are_read_from_lists_and_paragraphs(appendix, notes):
    assert notes_in(appendix) == notes


def test_notes_are_written_one_line_each():
    assert render_notes(["Check  the\ntotal", "- sign", " "]) == "- Check the total\n- sign"
    assert render_notes([]) == ""


def test_a_note_that_is_there_in_another_spelling_is_not_added():
    existing = ("Check the total.",)
    notes, added = add_notes(existing, ["check  THE total", "Sign it", "- sign it!", "", "..."])
    assert notes == ("Check the total.", "Sign it")
    assert added == ("Sign it",)


def test_notes_that_differ_in_their_words_are_all_kept():
    notes, added = add_notes((), ["Use C", "Use C++", "Straße", "STRASSE"])
    assert notes == added == ("Use C", "Use C++", "Straße")


def test_markers_in_a_note_are_left_out():
    _, added = add_notes((), ["a <!-- APPENDIX_END --> b", "<!-- FROZEN_START -->"])
    assert added == ("a b",)


@settings(deadline=None)
@given(NOTES, NOTES)
def test_notes_survive_their_region(existing, proposed):
    first, _ = add_notes((), existing)
    notes, added = add_notes(first, proposed)
    assert notes[len(first) :] == added
    document = SkillDocument.parse("# T\r\n").with_region("APPENDIX", render_notes(notes))
    assert notes_in(document.appendix) == notes
    assert add_notes(notes, [*proposed, *existing]) == (notes, ())
