from __future__ import annotations

import json

import pytest

EDITS = [
    {"index": 0, "op": "append", "target": "", "content": "- Include \"A\".", "support": 2,
     "source_type": "success"},
    {"index": 1, "op": "append", "target": "", "content": "- Never\nwrite [B].", "support": 5,
     "source_type": "failure"},
    {"index": 2, "op": "append", "target": "", "content": "-  include  \"a\".", "support": 4,
     "source_type": "failure"},
    {"index": 3, "op": "replace", "target": "old", "content": "- Include \"A\".", "support": 1,
     "source_type": "failure"},
]  # fmt: skip


@pytest.fixture
def optimizer(ask, prompts):
    def asked(stage, user, mode="patch"):
        return json.loads(ask(user, prompts(stage, mode)).text)

    return asked


def listing(title, edits=EDITS, tail=""):
    skill = "## Current skill\n\n~~~~\n# Skill\n\n## Edits\n\n[1] a note\n~~~~\n\n"
    return f"{skill}## {title}\n\n```json\n{json.dumps(edits, indent=1)}\n```\n{tail}"


def test_merging_makes_equal_edits_one_and_adds_up_their_support(optimizer):
    edits = optimizer("merge", listing("Proposed edits"))["edits"]

    assert [(e["op"], e["content"], e["support_count"], e["source_type"]) for e in edits] == [
        ("append", '- Include "A".', 6, "failure"),
        ("append", "- Never\nwrite [B].", 5, "failure"),
        ("replace", '- Include "A".', 1, "failure"),
    ]


def test_ranking_selects_the_most_supported_up_to_the_number(optimizer):
    def selected(number):
        return optimizer("rank", listing("Edits", tail=f"\nSelect at most {number} edits."))

    assert selected(3)["selected_indices"] == [1, 2, 0]
    assert selected(9)["selected_indices"] == [1, 2, 0, 3]
    assert selected(0)["selected_indices"] == []


def test_support_may_be_a_list_of_tasks_and_equal_support_keeps_the_order(optimizer):
    edits = [{"op": "append", "content": str(n), "support": ["x"] * (n % 2)} for n in range(4)]

    assert optimizer("rank", listing("Edits", edits))["selected_indices"] == [1, 3, 0, 2]


def test_a_list_without_edits_gives_empty_forms(optimizer):
    assert optimizer("merge", "## Proposed edits\n\n[]")["edits"] == []
    assert optimizer("rank", "## Edits\n\n[]")["selected_indices"] == []


def test_the_document_of_an_edit_is_kept_and_tells_edits_apart(optimizer):
    rule = {"op": "append", "target": "", "content": "- Be brief."}
    proposed = [rule, {**rule, "document": "memory"}, {**rule, "document": "memory"}]
    edits = optimizer("merge", listing("Proposed edits", proposed))["edits"]

    assert [(e.get("document"), e["support_count"]) for e in edits] == [(None, 1), ("memory", 2)]


def test_merging_makes_equal_suggestions_one(optimizer):
    rows = [
        {"index": n, "type": kind, "title": "t", "motivation": "m", "instruction": text,
         "priority_hint": "high", "source_type": "failure", "support": 2}
        for n, (kind, text) in enumerate(
            [("add_rule", 'Add "A".'), ("add_rule", 'add  "a".'), ("remove_rule", 'Add "A".')]
        )
    ]  # fmt: skip
    merged = optimizer("merge", listing("Proposed suggestions", rows), "rewrite_from_suggestions")

    found = [(s["type"], s["support_count"]) for s in merged["revise_suggestions"]]
    assert found == [("add_rule", 4), ("remove_rule", 2)]


def test_merged_documents_have_what_each_added_and_lack_what_one_dropped(optimizer):
    first = '<!-- KEEP 1 -->\n# Skill\n\n- Use "A".\n- Never write "B".\n\n<!-- KEEP 2 -->\n'
    second = '<!-- KEEP 1 -->\n# Skill\n\n- Add "B".\n- use  "a".\n\n<!-- KEEP 2 -->\n'
    rows = [
        {"index": n, "title": "", "change_summary": [f"change {n}"], "new_skill": text}
        for n, text in enumerate([first, second])
    ]
    user = (
        '## Current skill\n\n~~~~\n---\nname: s\n---\n# Skill\n\n- Never write "B".\n~~~~\n\n'
        f"## Proposed rewrites\n\n{json.dumps(rows, indent=1)}\n"
    )
    [merged] = optimizer("merge", user, "full_rewrite_minibatch")["skill_candidates"]

    assert merged["new_skill"] == (
        '<!-- KEEP 1 -->\n# Skill\n\n- Use "A".\n- Add "B".\n\n<!-- KEEP 2 -->\n'
    )
    assert merged["change_summary"] == ["change 0", "change 1"]


def test_suggestions_are_ranked_as_edits_are(optimizer):
    rows = [{"index": n, "type": "add_rule", "instruction": str(n), "support": n} for n in range(3)]
    user = listing("Suggestions", rows) + "\n## Edits wanted\n\nSelect at most 2 suggestions."

    assert optimizer("rank", user)["selected_indices"] == [2, 1]


@pytest.mark.parametrize(
    ("batch", "number"),
    [("n: 8\nhard: 0.250\nsoft: 0.4", 4), ("n: 8\nhard: 0.875\nsoft: 0.9", 2),
     ("n: 0\nhard: not measured", 4)],
)  # fmt: skip
@pytest.mark.parametrize("title", ["Merged edits", "Merged suggestions"])
def test_fewer_changes_are_wanted_once_most_goes_well(optimizer, title, batch, number):
    user = f"## Batch\n\n{batch}\n\n{listing(title)}"

    assert optimizer("learning_rate", user)["learning_rate"] == number


def test_no_change_leaves_nothing_to_apply(optimizer):
    assert optimizer("learning_rate", "## Merged edits\n\n[]")["learning_rate"] == 0
