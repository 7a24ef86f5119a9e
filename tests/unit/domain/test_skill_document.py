from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.skill import SkillDocument, without_markers

SLOW_START, SLOW_END = "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"
APPENDIX_START, APPENDIX_END = "<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->"
FULL = (
    "---\nname: brief\n---\n\n# Brief\n\n- be short\n\n"
    f"{SLOW_START}\nslow words\n{SLOW_END}\n\n## More\n\n"
    f"{APPENDIX_START}\nnotes\n{APPENDIX_END}\n"
)
FRAGMENTS = st.sampled_from(
    [SLOW_START, SLOW_END, APPENDIX_START, APPENDIX_END, "---", "---\n", "\n", "\r\n", "\ufeff",
     "- a", "# T\n", " ", "<!-- ", "text"]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS | st.text(max_size=3), max_size=14).map("".join)


def test_the_parts_of_a_document_are_separate_fields():
    document = SkillDocument.parse(FULL)
    assert document.front_matter == "---\nname: brief\n---\n"
    assert document.slow_update == "\nslow words\n"
    assert document.appendix == "\nnotes\n"
    assert document.body == "\n# Brief\n\n- be short\n\n\n\n## More\n\n\n"


def test_parts_that_are_not_there_are_empty_or_none():
    document = SkillDocument.parse("# T")
    assert (document.front_matter, document.slow_update, document.appendix) == ("", None, None)


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: x\n",
        "--- x\na\n---\n",
        "\n---\na: b\n---\n",
        "----\na\n----\n",
    ],
)
def test_only_a_closed_block_at_the_very_start_is_front_matter(text):
    assert SkillDocument.parse(text).front_matter == ""


@pytest.mark.parametrize(
    ("text", "front_matter"),
    [
        ("---\n---\nx", "---\n---\n"),
        ("---\na: b\n---", "---\na: b\n---"),
        ("---  \r\na: b\r\n---\t\r\nx\r\n", "---  \r\na: b\r\n---\t\r\n"),
        ("\ufeff---\na: b\n---\nx", "---\na: b\n---\n"),
        ("---\na\n---\nb\n---\n", "---\na\n---\n"),
    ],
)
def test_front_matter_is_kept_as_it_was_written(text, front_matter):
    assert SkillDocument.parse(text).front_matter == front_matter


@pytest.mark.parametrize(
    "text",
    [
        f"a {SLOW_START} b",
        f"a {SLOW_END} b {SLOW_START}",
        f"{SLOW_START}a{SLOW_END}{SLOW_START}b{SLOW_END}",
        f"{SLOW_START}{SLOW_START}a{SLOW_END}",
        f"{SLOW_START}a{SLOW_END}b{SLOW_END}",
        f"{SLOW_START}a{APPENDIX_START}b{APPENDIX_END}c{SLOW_END}",
        f"{SLOW_START}a{APPENDIX_START}b{SLOW_END}c{APPENDIX_END}",
    ],
)
def test_markers_that_do_not_form_one_region_are_body_text(text):
    document = SkillDocument.parse(text)
    assert document.regions == ()
    assert document.body == text


def test_a_stray_marker_of_one_region_does_not_undo_the_other():
    document = SkillDocument.parse(f"{APPENDIX_END} x {SLOW_START}a{SLOW_END}")
    assert document.slow_update == "a"
    assert document.appendix is None


@settings(deadline=None)
@given(TEXTS)
def test_every_text_is_rendered_byte_for_byte(text):
    assert SkillDocument.parse(text).render() == text


@settings(deadline=None)
@given(st.text())
def test_arbitrary_text_is_rendered_byte_for_byte(text):
    assert SkillDocument.parse(text).render() == text


@settings(deadline=None)
@given(TEXTS)
def test_no_marker_survives_its_removal(text):
    left = without_markers(text)
    for marker in (SLOW_START, SLOW_END, APPENDIX_START, APPENDIX_END):
        assert marker not in left


def test_markers_nested_in_each_other_are_removed_and_all_else_is_kept():
    nested = SLOW_START[:9] + APPENDIX_END + SLOW_START[9:]
    assert without_markers(f"a>{nested}b -->") == "a>b -->"
