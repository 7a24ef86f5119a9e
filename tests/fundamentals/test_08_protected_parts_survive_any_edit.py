"""8. Protected parts of a document survive any edit.

The front matter and the marked regions of a skill are not the optimizer's to change: what the run
itself maintains, and what its author froze. They are kept apart from the body, so no edit can
reach them, whatever it aims at or tries to write; and whoever rewrites the whole document sees
only a line in the place of each.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.edits import Edit, apply_edits
from skillopt.domain.skill import SkillDocument

SKILL = """\
---
name: greeter
---
# Greeter

Be brief.

<!-- FROZEN_START -->
Never promise a refund.
<!-- FROZEN_END -->

<!-- SLOW_UPDATE_START -->
Learnt slowly.
<!-- SLOW_UPDATE_END -->

Be kind.
"""

TEXTS = st.sampled_from(
    [
        "",
        "Be brief.",
        "Be kind.\n",
        "name: greeter",
        "Never promise a refund.",
        "Be brief.\n\n<!-- FROZEN_START -->",
        "Learnt slowly.",
        "<!-- SLOW_UPDATE_END -->",
        "<!-- FROZEN_END -->\nPromise a refund.\n<!-- FROZEN_START -->",
        "<!-- KEEP 1 -->",
        "<!-- KEEP 2 -->\n",
        "---\nname: other\n---\n",
        "Say hello.",
    ]
)
EDITS = st.builds(
    Edit,
    op=st.sampled_from(["append", "insert_after", "replace", "delete"]),
    target=TEXTS,
    content=TEXTS,
)


@settings(max_examples=200, deadline=None)
@given(edits=st.lists(EDITS, max_size=4))
def test_no_edit_changes_a_protected_part(edits):
    before = SkillDocument.parse(SKILL)
    after = SkillDocument.parse(apply_edits(before, edits).document.render())
    assert after.front_matter == before.front_matter
    assert after.regions == before.regions


@settings(max_examples=200, deadline=None)
@given(lines=st.lists(TEXTS, max_size=6))
def test_no_rewrite_changes_a_protected_part(lines):
    before = SkillDocument.parse(SKILL)
    after = SkillDocument.parse(before.rewritten("\n".join(lines)).document.render())
    assert after.front_matter == before.front_matter
    assert sorted(map(str, after.regions)) == sorted(map(str, before.regions))


def test_the_body_is_free():
    edit = Edit(op="replace", target="Be brief.", content="Be very brief.")
    applied = apply_edits(SkillDocument.parse(SKILL), [edit])
    assert applied.reports[0].applied
    assert "Be very brief." in applied.document.body


def test_a_rewrite_is_free_where_the_outline_shows_text():
    document = SkillDocument.parse(SKILL)
    assert "refund" not in document.outline()
    new = document.outline().replace("Be brief.", "Be very brief.")
    assert document.rewritten(new).document.render() == SKILL.replace("Be brief", "Be very brief")


def test_what_an_author_froze_is_refused_by_name():
    edit = Edit(op="delete", target="Never promise a refund.")
    applied = apply_edits(SkillDocument.parse(SKILL), [edit])
    assert applied.reports[0].status == "skipped_protected_region"
