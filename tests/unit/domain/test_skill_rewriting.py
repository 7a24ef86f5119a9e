from __future__ import annotations

import pytest
from document_texts import APPENDIX, DOCUMENTS, FROZEN, SLOW, protected, rewrites
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.skill import SkillDocument

FRONT = "---\nname: brief\n---\n"
FULL = f"{FRONT}\n# Brief\n\n- be short\n\n{FROZEN}\n\n## More\n\n{SLOW}\n\n{APPENDIX}\n"
BLOCK = "---\na: b\n---\n"
OUTLINE = (
    "<!-- KEEP 1 -->\n\n# Brief\n\n- be short\n\n<!-- KEEP 2 -->\n\n## More\n\n"
    "<!-- KEEP 3 -->\n\n<!-- KEEP 4 -->\n"
)


def rewritten(text: str, new: str) -> tuple[str, list[str]]:
    outcome = SkillDocument.parse(text).rewritten(new)
    return outcome.document.render(), list(outcome.problems)


def test_an_outline_shows_the_body_and_a_line_for_each_protected_part():
    assert SkillDocument.parse(FULL).outline() == OUTLINE
    assert SkillDocument.parse("# T\n").outline() == "# T\n"


def test_protected_parts_return_to_their_lines():
    new = OUTLINE.replace("- be short", "- be very short").replace("## More", "## Rest")
    assert rewritten(FULL, new) == (
        FULL.replace("- be short", "- be very short").replace("## More", "## Rest"),
        [],
    )


def test_parts_may_be_moved():
    new = "<!-- KEEP 1 -->\n# B\n\n<!-- KEEP 4 -->\n\n<!-- KEEP 3 -->\n\na\n\n<!-- KEEP 2 -->"
    assert rewritten(FULL, new) == (f"{FRONT}# B\n\n{APPENDIX}\n\n{SLOW}\n\na\n\n{FROZEN}\n", [])


@pytest.mark.parametrize(
    "new", [OUTLINE, OUTLINE.strip(), f"\n{OUTLINE}\n", OUTLINE.replace("\n", "\r\n")]
)
def test_a_rewrite_that_changes_nothing_gives_the_same_document(new):
    assert rewritten(FULL, new) == (FULL, [])


def test_parts_without_a_line_stay_front_matter_first_and_others_at_the_end():
    found, problems = rewritten(FULL, "# New\n")
    assert found == f"{FRONT}# New\n\n{FROZEN}\n\n{SLOW}\n\n{APPENDIX}\n"
    assert problems == [
        "the line '<!-- KEEP 1 -->' is missing: the front matter went to the beginning",
        "the line '<!-- KEEP 2 -->' is missing: the FROZEN region went to the end",
        "the line '<!-- KEEP 3 -->' is missing: the SLOW_UPDATE region went to the end",
        "the line '<!-- KEEP 4 -->' is missing: the APPENDIX region went to the end",
    ]


def test_an_empty_rewrite_leaves_the_protected_parts_alone():
    assert rewritten(FULL, " \n")[0] == f"{FRONT}{FROZEN}\n\n{SLOW}\n\n{APPENDIX}\n"
    assert rewritten("# T\n", "")[0] == ""


def test_second_and_unknown_lines_are_taken_out_and_named():
    new = "a\n<!-- KEEP 1 -->\nb <!-- KEEP 1 --> c\n<!-- KEEP 9 -->\n<!-- KEEP 0 -->\nd\n"
    found, problems = rewritten(f"{FROZEN}\n", new)
    assert found == f"a\n{FROZEN}\nb  c\nd\n"
    assert problems == [
        "a second line '<!-- KEEP 1 -->' was taken out",
        "an unknown line '<!-- KEEP 9 -->' was taken out",
        "an unknown line '<!-- KEEP 0 -->' was taken out",
    ]


def test_a_line_of_its_own_counts_more_than_a_mention():
    found, problems = rewritten(f"{FROZEN}\n", "Keep `<!-- KEEP 1 -->`.\n\n<!--KEEP 1-->\n")
    assert found == f"Keep ``.\n\n{FROZEN}\n"
    assert problems == ["a second line '<!-- KEEP 1 -->' was taken out"]


def test_front_matter_is_first_wherever_its_line_is():
    found, problems = rewritten(f"{FRONT}# T\n", "# New\n\n<!-- KEEP 1 -->\n\nmore\n")
    assert found == f"{FRONT}# New\n\n\nmore\n"
    assert problems == ["'<!-- KEEP 1 -->' was not at the beginning: it is put there"]


@pytest.mark.parametrize(
    ("text", "new", "expected", "named"),
    [
        (f"{FRONT}# T\n", "---\nname: other\n---\n\n# New\n", f"{FRONT}# New\n", True),
        (f"{FRONT}# T\n", "<!-- KEEP 1 -->\n---\nname: b\n---\n# New\n", f"{FRONT}# New\n", True),
        (f"{FRONT}# T\n", f"<!-- KEEP 1 -->\n{FRONT}# New\n", f"{FRONT}# New\n", False),
        ("# T\n", "\ufeff---\nname: other\n---\n\n# New\n", "# New\n", True),
        ("# T\n", "---\n\nProse.\n\n---\n", "\n---\n\nProse.\n\n---\n", False),
        (f"{FRONT}{BLOCK}c\n", f"<!-- KEEP 1 -->\n{BLOCK}d\n", f"{FRONT}{BLOCK}d\n", False),
    ],
)  # fmt: skip
def test_front_matter_that_a_rewrite_brings_is_taken_out(text, new, expected, named):
    found, problems = rewritten(text, new)
    assert found == expected
    assert ("front matter in the text was taken out: it stays as it is" in problems) == named


def test_a_region_written_out_is_the_one_that_was_there():
    assert rewritten(FULL, FULL) == (FULL, [])
    new = FULL.replace("- be short", "- be brief")
    assert rewritten(FULL, new) == (new, [])


def test_a_region_that_was_changed_stays_as_it_was():
    new = FULL.replace("slow words", "faster words").replace("never lie", "lie a little")
    found, problems = rewritten(FULL, new)
    assert found == FULL
    assert "the SLOW_UPDATE region was changed: it stays as it was" in problems
    assert "the FROZEN region was changed: it stays as it was" in problems


def test_copies_of_a_region_are_taken_out_and_markers_of_a_new_one():
    text = f"a\n\n{FROZEN}\n"
    copied, problems = rewritten(text, f"b\n<!-- KEEP 1 -->\n{FROZEN}\n")
    assert copied == f"b\n{FROZEN}\n"
    assert problems == ["a copy of the FROZEN region was taken out"]
    invented, problems = rewritten(text, f"b\n<!-- KEEP 1 -->\n{SLOW}\n<!-- FROZEN_START -->\nc\n")
    assert invented == f"b\n{FROZEN}\n\nslow words\n\n\nc\n"
    assert problems == ["region markers in the text were taken out"]


def test_comments_of_the_author_that_look_like_keep_lines_are_not_mistaken():
    text = f"Write `<!-- KEEP 2 -->` there.\n\n{FROZEN}\n"
    document = SkillDocument.parse(text)
    assert document.outline() == "Write `<!-- KEEP 1 -->` there.\n\n<!-- KEEP 2 -->\n"
    new = document.outline().replace("there", "here")
    assert rewritten(text, new) == (text.replace("there", "here"), [])
    assert rewritten(text, "New.\n\n<!-- KEEP 2 -->") == (f"New.\n\n{FROZEN}\n", [])


def test_line_ends_follow_the_document():
    text = f"# T\r\n\r\n{FROZEN}\r\n".replace("\n- never lie\n", "\r\n- never lie\r\n")
    assert rewritten(text, "# New\n\nb\n\n<!-- KEEP 1 -->")[0] == text.replace(
        "# T", "# New\r\n\r\nb"
    )
    assert rewritten("# T\n", "# New\r\nb\r\n")[0] == "# New\nb\n"


def test_a_byte_order_mark_stays():
    assert rewritten(f"\ufeff{FRONT}# T\n", "\ufeff<!-- KEEP 1 -->\n# New")[0] == (
        f"\ufeff{FRONT}# New\n"
    )


def test_parts_that_would_make_up_another_region_keep_their_order():
    slow = "<!-- SLOW_UPDATE_START -->x<!-- FROZEN_END --><!-- SLOW_UPDATE_END -->"
    appendix = "<!-- APPENDIX_START -->y<!-- FROZEN_START --><!-- APPENDIX_END -->"
    found, problems = rewritten(f"{slow}\n\n{appendix}\n", "<!-- KEEP 2 -->\n<!-- KEEP 1 -->\na\n")
    assert found == f"{slow}\n{appendix}\na\n"
    assert problems == ["the protected parts were put back into their old order"]


def test_a_rewrite_that_cannot_be_combined_changes_nothing():
    appendix = "<!-- APPENDIX_START -->b<!-- APPENDIX_END -->"
    slow = f"<!-- SLOW_UPDATE_START -->{appendix}<!-- SLOW_UPDATE_END -->"
    text = f"{slow}\n<!-- APPENDIX_START -->\n"
    found, problems = rewritten(text, "<!-- KEEP 1 -->\nnew\n")
    assert found == text
    assert problems[-1].endswith("nothing was changed")


def test_a_megabyte_of_markers_is_put_right_in_little_time():
    for hostile in ("<!-- KEEP 1 --> ", "---\na: b\n---\n", f"{FROZEN}\n", "<!-- FROZEN_START -->"):
        new = hostile * (1_000_000 // len(hostile))
        outcome = SkillDocument.parse(FULL).rewritten(new)
        assert protected(outcome.document) == protected(SkillDocument.parse(FULL))


@settings(deadline=None)
@given(DOCUMENTS)
def test_the_outline_itself_gives_the_document_back(text):
    document = SkillDocument.parse(text)
    outcome = document.rewritten(document.outline())
    assert outcome.document.render() == text
    assert outcome.problems == ()


@settings(deadline=None)
@given(st.data(), DOCUMENTS)
def test_protected_parts_stay_byte_identical_under_any_rewrites(data, text):
    document = SkillDocument.parse(text)
    before = protected(document)
    for _ in range(3):
        outcome = document.rewritten(data.draw(rewrites(document)))
        document = outcome.document
        assert SkillDocument.parse(document.render()) == document
        assert protected(document) == before
