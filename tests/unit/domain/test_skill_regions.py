from __future__ import annotations

import pytest
from document_texts import APPENDIX, DOCUMENTS, FROZEN, SLOW, TEXTS, protected
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.regions import stray_markers
from skillopt.domain.skill import SkillDocument, without_markers

START, END = "<!-- FROZEN_START -->", "<!-- FROZEN_END -->"
SLOW_START, SLOW_END = "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"


def names(text: str) -> list[str]:
    return [region.name for region in SkillDocument.parse(text).regions]


# --- frozen regions ---------------------------------------------------------------------------


def test_any_number_of_regions_may_be_frozen():
    document = SkillDocument.parse(f"a\n{START}x{END}\nb\n{SLOW}\n{START}{END}c\n{APPENDIX}\n")
    assert [region.name for region in document.regions] == [
        "FROZEN", "SLOW_UPDATE", "FROZEN", "APPENDIX",
    ]  # fmt: skip
    assert document.frozen == ("x", "")
    assert document.body == "a\n\nb\n\nc\n\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"a {START} b", []),
        (f"{END} a {START} b", []),
        (f"{START}{START}a{END}b{END}", ["FROZEN"]),
        (f"{START}{SLOW}{END}", ["FROZEN"]),
        (f"{START}{SLOW_START}{END}{SLOW}", ["FROZEN", "SLOW_UPDATE"]),
        (f"{SLOW_START}{START}a{END}{SLOW_END}", ["FROZEN"]),
        (f"{START}{SLOW_START}{END}a{SLOW_END}", ["FROZEN"]),
        (f"{SLOW_START}{START}{SLOW_END}{END}", ["FROZEN"]),
        (f"<!--FROZEN_START-->a{END}", []),
    ],
)
def test_a_frozen_region_runs_to_the_next_end_and_is_never_looked_into(text, found):
    assert names(text) == found


def test_markers_and_keep_comments_are_removed_also_where_they_appear_by_removal():
    assert without_markers(f"a{START}b{END}c<!-- KEEP 12 -->d<!--KEEP 1-->e") == "abcde"
    assert without_markers(f"a<!-- FRO{END}ZEN_START -->b") == "ab"
    assert without_markers(f"<!-- KEEP {SLOW_START}1 -->") == ""
    assert without_markers("<!-- KEEP -->, <!-- KEEP x -->") == "<!-- KEEP -->, <!-- KEEP x -->"


@settings(deadline=None)
@given(TEXTS)
def test_a_text_without_markers_has_no_region_and_is_left_alone(text):
    left = without_markers(text)
    assert SkillDocument.parse(left).regions == ()
    assert without_markers(left) == left


def test_markers_that_protect_nothing_are_named_with_their_line():
    text = f"---\nn: x\n---\na\n{FROZEN}\n{END}\n\n{SLOW}\n<!-- frozen_start -->\n"
    assert [(stray.line, stray.text) for stray in stray_markers(text)] == [
        (8, END),
        (13, "<!-- frozen_start -->"),
    ]
    assert stray_markers(f"a\n{FROZEN}\n{SLOW}\n") == ()


# --- the run's own regions --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# T\n", "# T\n\n{new}\n"),
        ("# T", "# T\n\n{new}\n"),
        ("", "{new}\n"),
        ("---\nn: x\n---\n", "---\nn: x\n---\n\n{new}\n"),
        ("---\nn: x\n---", "---\nn: x\n---\n\n{new}\n"),
        (f"# T\n\n{FROZEN}", f"# T\n\n{FROZEN}\n\n{{new}}\n"),
        (f"# T\n\n{APPENDIX}\n", f"# T\n\n{{new}}\n\n{APPENDIX}\n"),
        (f"# T\n\n{APPENDIX}\n\nmore\n", f"# T\n\n{{new}}\n\n{APPENDIX}\n\nmore\n"),
        (f"{APPENDIX}", f"{{new}}\n\n{APPENDIX}"),
        (f"# T\n\n{SLOW}\n\nmore\n", "# T\n\n{new}\n\nmore\n"),
        (f"a {SLOW} b", "a {new} b"),
        (f"# T\n{SLOW_START}\nold\n", "# T\n\nold\n\n{new}\n"),
        (f"# T\n{SLOW}\n{SLOW}\n", "# T\n\nslow words\n\n\nslow words\n\n{new}\n"),
    ],
)
def test_a_region_is_changed_in_place_or_added_at_the_end(text, expected):
    found = SkillDocument.parse(text).with_region("SLOW_UPDATE", "\n\nnew words\n")
    assert found.render() == expected.format(new=f"{SLOW_START}\nnew words\n{SLOW_END}")
    assert found.slow_update == "\nnew words\n"


def test_the_appendix_comes_last():
    document = SkillDocument.parse(f"# T\n\n{SLOW}\n").with_region("APPENDIX", "notes")
    assert document.render() == f"# T\n\n{SLOW}\n\n{APPENDIX}\n"


def test_line_ends_of_a_region_are_those_of_the_document():
    document = SkillDocument.parse("# T\r\n").with_region("APPENDIX", "a\nb\r\nc")
    assert document.appendix == "\r\na\r\nb\r\nc\r\n"


def test_markers_in_new_content_are_left_out():
    hostile = f"a\n{SLOW_END}\nb {FROZEN}\n<!-- KEEP 1 -->"
    document = SkillDocument.parse(f"# T\n\n{FROZEN}\n").with_region("SLOW_UPDATE", hostile)
    assert document.slow_update == "\na\n\nb \n- never lie\n"
    assert names(document.render()) == ["FROZEN", "SLOW_UPDATE"]


def test_content_cannot_close_what_looks_like_front_matter():
    document = SkillDocument.parse("---\n# T\n").with_region("SLOW_UPDATE", "a\n---\nb")
    assert document.slow_update == "\na\n***\nb\n"
    assert document.front_matter == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"# T\n\n{SLOW}\n", "# T\n"),
        (f"# T\n\n{SLOW}\n\n## U\n", "# T\n\n## U\n"),
        (f"# T\n{SLOW}\n\n\nb\n", "# T\n\n\nb\n"),
        (f"# T\n\n{SLOW}\n\n{APPENDIX}\n", f"# T\n\n{APPENDIX}\n"),
        (f"a {SLOW} b\n", "a  b\n"),
        (SLOW, ""),
        (f"---\nn: x\n---\n\n{SLOW}\n", "---\nn: x\n---\n"),
        ("# T\n", "# T\n"),
        (f"# T\n\n{SLOW_START}\n", f"# T\n\n{SLOW_START}\n"),
    ],
)
def test_a_region_without_content_is_taken_out(text, expected):
    document = SkillDocument.parse(text).with_region("SLOW_UPDATE", f" \n{SLOW_END}")
    assert document.render() == expected
    assert document.slow_update is None


def test_an_empty_region_stays_where_its_neighbours_would_join_to_something_protected():
    text = f"<!-- FROZEN_{SLOW}START -->\na\n{END}\n"
    document = SkillDocument.parse(text).with_region("SLOW_UPDATE", "")
    assert document.slow_update == "\n"
    assert document.frozen == ()


@settings(deadline=None)
@given(st.data(), DOCUMENTS)
def test_writing_one_region_keeps_every_other_protected_part(data, text):
    document = SkillDocument.parse(text)
    for _ in range(3):
        name = data.draw(st.sampled_from(["SLOW_UPDATE", "APPENDIX"]))
        content = data.draw(TEXTS)
        after = document.with_region(name, content)
        assert SkillDocument.parse(after.render()) == after
        bom, front, others = protected(document)
        kept = protected(after)
        assert kept[:2] == (bom, front)
        for other in [other for other in others if not other.startswith(f"<!-- {name}_")]:
            assert other in kept[2]
        document = after


@settings(deadline=None)
@given(st.sampled_from(["", "# T\n", "---\nn: x\n---\n\na\n", f"{FROZEN}\n\nb\n"]), st.text())
def test_a_region_that_is_written_can_be_read_replaced_and_taken_out(text, content):
    document = SkillDocument.parse(text)
    written = document.with_region("SLOW_UPDATE", content)
    again = written.with_region("SLOW_UPDATE", written.slow_update or "")
    assert again == written
    assert written.with_region("SLOW_UPDATE", "").render() == text
