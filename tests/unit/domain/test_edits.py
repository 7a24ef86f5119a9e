from __future__ import annotations

import pytest
from document_texts import APPENDIX, DOCUMENTS, FROZEN, SLOW, patches, protected, rewrites
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.documents import Documents
from skillopt.domain.edits import Applied, Edit, EditReport, apply_edits, apply_to_documents
from skillopt.domain.skill import SkillDocument


def edited(text: str, *edits: Edit) -> Applied:
    return apply_edits(SkillDocument.parse(text), edits)


def append(content: str) -> Edit:
    return Edit(op="append", content=content)


def insert(target: str, content: str) -> Edit:
    return Edit(op="insert_after", target=target, content=content)


def swap(target: str, content: str) -> Edit:
    return Edit(op="replace", target=target, content=content)


def delete(target: str) -> Edit:
    return Edit(op="delete", target=target)


def statuses(applied: Applied) -> list[str]:
    return [report.status.value for report in applied.reports]


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ("# T\n\n- a\n", "- b", "# T\n\n- a\n- b\n"),
        ("# T\n\n- a", "- b", "# T\n\n- a\n- b\n"),
        ("- a\n  more of a\n\n\n", "* b", "- a\n  more of a\n* b\n"),
        ("1. a\n", "2. b\n\n", "1. a\n2. b\n"),
        ("# T\n", "- b", "# T\n\n- b\n"),
        ("- a\n\ntext\n", "- b", "- a\n\ntext\n\n- b\n"),
        ("- a\n## H\n", "- b", "- a\n## H\n\n- b\n"),
        ("- a\n", "## New\n\ntext", "- a\n\n## New\n\ntext\n"),
        ("a", "\n\n  - indented\n", "a\n\n  - indented\n"),
        ("", "a", "a\n"),
        ("\n\n", "a", "a\n"),
        ("---\nn: x\n---\n", "a", "---\nn: x\n---\n\na\n"),
        ("---\nn: x\n---", "a", "---\nn: x\n---\n\na\n"),
        ("\ufeffa", "b", "\ufeffa\n\nb\n"),
        (f"# T\n\n- a\n\n{SLOW}\n", "- b", f"# T\n\n- a\n- b\n\n{SLOW}\n"),
        (f"a\n\n{SLOW}\n\n{APPENDIX}", "b", f"a\n\nb\n\n{SLOW}\n\n{APPENDIX}\n"),
        (f"a\n{SLOW}\n\nz\n", "b", f"a\n{SLOW}\n\nz\n\nb\n"),
        (SLOW, "b", f"b\n\n{SLOW}\n"),
        (f"a {SLOW}", "b", f"a\n\nb\n\n{SLOW}\n"),
        ("a\r\n\r\n- b\r\n", "- c\nd", "a\r\n\r\n- b\r\n- c\r\nd\r\n"),
        (f"# T\n\n{FROZEN}", "b", f"# T\n\n{FROZEN}\n\nb\n"),
        (f"{FROZEN}\n\n{SLOW}\n", "b", f"{FROZEN}\n\nb\n\n{SLOW}\n"),
        (f"a\n{FROZEN}{SLOW}", "b", f"a\n{FROZEN}\n\nb\n\n{SLOW}\n"),
        ("# É 日本\n", "- ünïcode\u2028line", "# É 日本\n\n- ünïcode\u2028line\n"),
    ],
)
def test_append_puts_a_block_at_the_end_of_the_body(text, content, expected):
    applied = edited(text, append(content))
    assert applied.document.render() == expected
    assert statuses(applied) == ["applied_append"]


@pytest.mark.parametrize(
    ("text", "target", "content", "expected"),
    [
        ("- a b\n- c\n", "a", "- x\n", "- a b\n- x\n- c\n"),
        ("- a\n- c\n", "- a\n", "- x", "- a\n- x\n- c\n"),
        ("- a\n- b\n- c\n", "a\n- b", "- x", "- a\n- b\n- x\n- c\n"),
        ("- a", "a", "- x", "- a\n- x\n"),
        ("a\r\nb\r\n", "a", "x\ny", "a\r\nx\r\ny\r\nb\r\n"),
        (f"a\n{SLOW}\nb\n", "a", "x", f"a\nx\n{SLOW}\nb\n"),
    ],
)
def test_insert_after_goes_behind_the_line_that_holds_the_target(text, target, content, expected):
    applied = edited(text, insert(target, content))
    assert applied.document.render() == expected
    assert statuses(applied) == ["applied_insert_after"]


@pytest.mark.parametrize(
    ("text", "target", "content", "expected"),
    [
        ("be short, please\n", "short", "brief", "be brief, please\n"),
        ("- a\n- b\n", "- a\n", "- x", "- x\n- b\n"),
        ("- a\n- b\n", "- a", "- x\n\n", "- x\n- b\n"),
        ("a\r\nb\r\nc", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
        ("A a\n", "a", "x", "A x\n"),
        ("a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n"),
        ("a\r\nb\nc\n", "b\nc", "x\r\ny", "a\r\nx\ny\n"),
        ("\ufeffa 😀 b\n", "😀", "é", "\ufeffa é b\n"),
        ("never lie\n" + FROZEN, "never lie", "be honest", f"be honest\n{FROZEN}\n"),
    ],
)
def test_replace_changes_exactly_the_target(text, target, content, expected):
    applied = edited(text, swap(target, content))
    assert applied.document.render() == expected
    assert statuses(applied) == ["applied_replace"]


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("a\n\n- b\n\nc\n", "- b", "a\n\nc\n"),
        ("a\n\n- b\n\nc\n", "- b\n", "a\n\nc\n"),
        ("- a\n- b\n- c\n", "- b", "- a\n- c\n"),
        ("- a\n  - b  \n- c\n", "- b", "- a\n- c\n"),
        ("a b c\n", " b", "a c\n"),
        ("# T\n\na\n", "# T", "a\n"),
        ("---\nn: x\n---\n# T\n\na\n", "# T", "---\nn: x\n---\n\na\n"),
        ("---\nn: x\n---\n\n# T\n\na\n", "# T", "---\nn: x\n---\n\na\n"),
        ("a\n\n\n\nb\n\nc\n", "b", "a\n\n\n\nc\n"),
        ("a\n\nb", "b", "a\n"),
        ("a", "a", ""),
        ("a\r\n\r\nb\r\n\r\nc\r\n", "b", "a\r\n\r\nc\r\n"),
        (f"{SLOW}\nb\n\nc\n", "b", f"{SLOW}\n\nc\n"),
        (f"a\n\nb\n\n{SLOW}\n", "b", f"a\n\n{SLOW}\n"),
    ],
)
def test_delete_leaves_no_doubled_blank_line_behind(text, target, expected):
    applied = edited(text, delete(target))
    assert applied.document.render() == expected
    assert statuses(applied) == ["applied_delete"]


@pytest.mark.parametrize(
    ("text", "edit", "status"),
    [
        ("a\n", Edit(op="add", content="b"), "skipped_unknown_op"),
        ("a\n", Edit(op="Append", content="b"), "skipped_unknown_op"),
        ("a\n", append(" \n"), "skipped_empty_content"),
        ("a\n", append("<!-- APPENDIX_END -->\n"), "skipped_empty_content"),
        ("a\n", insert("a", ""), "skipped_empty_content"),
        ("a\n", swap("a", ""), "skipped_empty_content"),
        ("a\n", insert("", "b"), "skipped_empty_target"),
        ("a\n", swap(" ", "b"), "skipped_empty_target"),
        ("a\n\nb", delete("\n"), "skipped_empty_target"),
        ("a\n", delete("b"), "skipped_target_missing"),
        ("Short\n", delete("short"), "skipped_target_missing"),
        ("a  b\n", insert("a b", "c"), "skipped_target_missing"),
        ("a a\n", delete("a"), "skipped_ambiguous_target"),
        ("aaa\n", delete("aa"), "skipped_ambiguous_target"),
        (f"a\n{SLOW}\na\n", delete("a"), "skipped_ambiguous_target"),
        ("---\nname: x\n---\na\n", swap("name: x", "name: y"), "skipped_protected_region"),
        ("---\nname: x\n---\na\n", delete("---\na"), "skipped_protected_region"),
        (f"a\n{SLOW}\n", delete("slow words"), "skipped_protected_region"),
        (f"a\n{SLOW}\n", swap("a\n<!-- SLOW", "x"), "skipped_protected_region"),
        (f"a\n{SLOW}\n", insert("<!-- SLOW_UPDATE_END -->", "x"), "skipped_protected_region"),
        (f"a {SLOW}\n", insert("a", "x"), "skipped_protected_region"),
        (f"a\n{FROZEN}\nb\n", swap("never lie", "lie"), "skipped_protected_region"),
        (f"a\n{FROZEN}\nb\n", delete(f"a\n{FROZEN}\nb"), "skipped_protected_region"),
        (f"a\n{FROZEN}\nb\n", delete("a\n<!-- FROZEN_START -->"), "skipped_protected_region"),
        (f"a\n{FROZEN}\nb\n", swap("<!-- FROZEN_END -->\nb", "c"), "skipped_protected_region"),
        (f"a\n{FROZEN}\nb\n", insert("never lie", "but"), "skipped_protected_region"),
        (f"a\n{FROZEN}\nb\n", insert("<!-- FROZEN_START -->", "c"), "skipped_protected_region"),
        (f"<!-- FROZEN_xSTART -->{FROZEN}", delete("x"), "skipped_protected_region"),
        (
            "<!-- FROZEN_START -->\na\n<!-- FROZEN_E -->\n",
            swap("FROZEN_E", "FROZEN_END"),
            "skipped_protected_region",
        ),
        ("a\n", append("<!-- FROZEN_START -->\n<!-- KEEP 2 -->"), "skipped_empty_content"),
        ("a\r\nb\n", delete("a\nb"), "skipped_target_missing"),
        ("caf\u00e9\n", delete("cafe\u0301"), "skipped_target_missing"),
        (f"<!-- APPENDIX_xSTART -->{APPENDIX}", delete("x"), "skipped_protected_region"),
        ("---\na\n", append("---"), "skipped_protected_region"),
        ("a\n", swap("a", "\ufeffb"), "skipped_protected_region"),
        ("a b\n", swap("a", "a"), "skipped_no_change"),
        ("a b\n", swap("a b", "a b\n"), "skipped_no_change"),
    ],
)
def test_an_edit_that_cannot_be_applied_says_why_and_changes_nothing(text, edit, status):
    applied = edited(text, edit)
    assert statuses(applied) == [status]
    assert applied.document.render() == text


def test_a_target_is_looked_for_in_the_body_only():
    applied = edited(f"---\nn: short\n---\nbe short\n{SLOW}\n", swap("short", "brief"))
    assert applied.document.render() == f"---\nn: short\n---\nbe brief\n{SLOW}\n"


def test_markers_in_new_text_are_taken_out():
    applied = edited("a\n", append(f"b{SLOW}c"))
    assert applied.document.render() == "a\n\nb\nslow words\nc\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (swap("b", "x"), delete("x")),
        (swap("b", "x"), delete("b")),
        (swap("b", "x"), delete("a b")),
        (delete("b"), swap("a b c", "x")),
        (delete(" b"), swap("a c", "x")),
        (append("new"), delete("new")),
        (insert("a", "new"), swap("new", "y")),
        (insert("a", "new"), swap("c\nd", "y")),
        (swap("b", "x\ny"), insert("a", "z")),
    ],
)
def test_text_an_earlier_edit_touched_is_not_edited_again(first, second):
    applied = edited("a b c\nd\n", first, second)
    assert applied.reports[0].applied
    assert statuses(applied)[1] == "skipped_overlap"
    assert applied.document.render() == edited("a b c\nd\n", first).document.render()


def test_a_target_that_was_ambiguous_stays_so_whatever_earlier_edits_did():
    applied = edited("a x\na y\n", swap("a x", "b"), delete("a"), delete("a y"))
    assert statuses(applied) == ["applied_replace", "skipped_ambiguous_target", "applied_delete"]
    assert applied.document.render() == "b\n"


def test_a_target_that_spans_an_edit_and_a_region_is_protected():
    applied = edited(f"a\n{FROZEN}\n", swap("a", "b"), delete("b\n<!-- FROZEN"))
    assert statuses(applied) == ["applied_replace", "skipped_protected_region"]


def test_overlapping_targets_are_applied_once():
    applied = edited("one two three\n", swap("one two", "1 2"), swap("two three", "2 3"))
    assert statuses(applied) == ["applied_replace", "skipped_overlap"]
    assert applied.document.render() == "1 2 three\n"


def test_two_edits_of_one_target_are_applied_once():
    applied = edited("- a\n- b\n", delete("- a"), delete("- a"), swap("- a", "- c"))
    assert statuses(applied) == ["applied_delete", "skipped_overlap", "skipped_overlap"]
    assert applied.document.render() == "- b\n"


def test_a_copy_of_the_target_in_new_text_does_not_make_it_ambiguous():
    applied = edited("- a\n", append("- not a"), swap("a", "b"))
    assert applied.document.render() == "- b\n- not a\n"


def test_edits_at_neighbouring_places_all_apply_in_order():
    applied = edited(
        "# T\n- a\n- b",
        append("- z"),
        insert("- b", "- b1"),
        insert("- b", "- b2"),
        swap("a", "A"),
        insert("# T", "intro"),
        append("- zz"),
        delete("- b"),
    )
    assert applied.document.render() == "# T\nintro\n- A\n- b1\n- b2\n- z\n- zz\n"
    assert all(report.applied for report in applied.reports)


def test_a_line_can_be_inserted_after_although_its_end_was_replaced():
    applied = edited("a b\n", swap("b", "x"), append("z"), insert("a", "y"))
    assert applied.document.render() == "a x\ny\n\nz\n"


def test_nothing_is_changed_when_no_edit_applies():
    text = "a  \n\n\n"
    document = SkillDocument.parse(text)
    assert apply_edits(document, [delete("x")]).document is document
    assert apply_edits(document, []).reports == ()


def test_reports_are_in_the_order_of_the_edits_and_survive_json():
    applied = edited("a\n", delete("x"), append("b"))
    assert [(report.index, report.op) for report in applied.reports] == [
        (0, "delete"),
        (1, "append"),
    ]
    for report in applied.reports:
        assert EditReport.model_validate_json(report.model_dump_json()) == report


@settings(deadline=None)
@given(st.data(), DOCUMENTS)
def test_protected_parts_stay_byte_identical_under_any_edits(data, text):
    document = SkillDocument.parse(text)
    before, order = protected(document), document.regions
    for _ in range(3):
        edits = data.draw(patches(document.render()))
        applied = apply_edits(document, edits)
        assert len(applied.reports) == len(edits)
        assert SkillDocument.parse(applied.document.render()) == applied.document
        document = applied.document
    assert protected(document) == before
    assert document.regions == order


@settings(deadline=None)
@given(st.data(), DOCUMENTS)
def test_protected_parts_stay_byte_identical_under_edits_and_rewrites_together(data, text):
    document = SkillDocument.parse(text)
    before = protected(document)
    for _ in range(4):
        if data.draw(st.booleans()):
            document = apply_edits(document, data.draw(patches(document.render()))).document
        else:
            document = document.rewritten(data.draw(rewrites(document))).document
        assert protected(document) == before
    assert SkillDocument.parse(document.render()) == document


@settings(deadline=None)
@given(st.data(), DOCUMENTS)
def test_an_edited_text_ends_with_exactly_one_newline(data, text):
    applied = edited(text, *data.draw(patches(text)))
    after = applied.document.render()
    if any(report.applied for report in applied.reports):
        assert applied.document.body.strip() == "" or after.endswith("\n")
        assert not after.endswith(("\n\n", "\n\r\n")) or applied.document.body.strip() == ""
    else:
        assert after == text


@settings(deadline=None)
@given(st.data(), DOCUMENTS)
def test_applying_is_deterministic(data, text):
    edits = data.draw(patches(text))
    assert edited(text, *edits) == edited(text, *edits)


# --- two documents ----------------------------------------------------------------------------

BOTH = Documents(skill="# Skill\n\n- a\n", memory="- a\n")


def of_memory(edit: Edit) -> Edit:
    return edit.model_copy(update={"document": "memory"})


def test_each_edit_changes_the_document_it_names():
    edits = [
        swap("- a", "- b"),
        of_memory(swap("- a", "- m")),
        append("- c"),
        of_memory(delete("x")),
    ]
    applied = apply_to_documents(BOTH, edits, ("skill", "memory"))
    assert applied.documents == Documents(skill="# Skill\n\n- b\n- c\n", memory="- m\n")
    assert [(report.index, report.op, report.status.value) for report in applied.reports] == [
        (0, "replace", "applied_replace"),
        (1, "replace", "applied_replace"),
        (2, "append", "applied_append"),
        (3, "delete", "skipped_target_missing"),
    ]


@pytest.mark.parametrize("name", ["skill", "memory"])
def test_an_edit_of_a_document_that_does_not_evolve_is_skipped(name):
    edits = [append("- c"), of_memory(append("- c"))]
    applied = apply_to_documents(BOTH, edits, (name,))
    status = {"skill": "skipped_document_not_evolving", "memory": "skipped_document_not_evolving"}
    status[name] = "applied_append"
    assert [report.status.value for report in applied.reports] == [
        status["skill"],
        status["memory"],
    ]
    other = "memory" if name == "skill" else "skill"
    assert applied.documents.of(other) == BOTH.of(other)
    assert applied.documents.of(name).endswith("- c\n")


def test_documents_without_an_applied_edit_stay_as_they_are():
    documents = Documents(skill="a  \n\n", memory=None)
    applied = apply_to_documents(documents, [delete("x"), of_memory(append("m"))], ("skill",))
    assert applied.documents is documents
    assert apply_to_documents(documents, [], ("skill",)).reports == ()


def test_an_empty_memory_can_be_begun():
    applied = apply_to_documents(
        Documents(skill="a", memory=""), [of_memory(append("m"))], ("memory",)
    )
    assert applied.documents == Documents(skill="a", memory="m\n")
