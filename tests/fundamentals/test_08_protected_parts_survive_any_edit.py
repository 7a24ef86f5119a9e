"""8. Protected parts of a document survive any edit.

The front matter and the marked regions of a skill are not the optimizer's to change. They are
kept apart from the body, so no edit can reach them, whatever it aims at or tries to write.
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
        "Learnt slowly.",
        "Be brief.\n\n<!-- SLOW_UPDATE_START -->",
        "<!-- SLOW_UPDATE_END -->",
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


def test_the_body_is_free():
    edit = Edit(op="replace", target="Be brief.", content="Be very brief.")
    applied = apply_edits(SkillDocument.parse(SKILL), [edit])
    assert applied.reports[0].applied
    assert "Be very brief." in applied.document.body
