from __future__ import annotations

import json

import pytest

from skillopt.loop.templates import packaged

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
def optimizer(ask):
    def asked(stage, user):
        return json.loads(ask(user, packaged()[stage]).text)

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
