from __future__ import annotations

import json
from typing import Any

from merge_values import Merge, append, contents, rule, shown
from stage_values import SECRET, group, messages_of, plan_with_secret, suggestion
from stage_values import rewrite_to as document

from skillopt.domain.edits import Edit
from skillopt.loop.aggregate import aggregate

# --- two documents


def test_the_document_of_an_edit_is_shown_and_carried_through_a_merge():
    merge = Merge(
        group(0, rule("Headings", "t1", document="memory")),
        group(1, rule("Brevity", "t2")),
        settings={"evolve": "both"},
        memory="Earlier lessons.\n",
    )
    prompt = merge.prompt(aggregate)
    assert "Earlier lessons." in prompt["Current memory"]
    assert [row.get("document") for row in json.loads(prompt["Proposed edits"])] == [
        "memory",
        "skill",
    ]
    job = merge.found().wanted[0]
    assert "Say which document." in messages_of(job)[0].content
    told = {**append("Brevity"), "document": "memory"}
    merge.answer(job, append("Headings"), told)
    assert [one.document for one in merge.outcome().edits if isinstance(one, Edit)] == [
        "memory",
        "memory",
    ], "the first goes where its source went, the second where the reply says"


def test_where_only_the_memory_evolves_edits_that_do_not_say_so_are_for_it():
    merge = Merge(
        group(0, rule("Headings", "t1", document="memory")),
        group(1, rule("Brevity", "t2", document="memory")),
        settings={"evolve": "memory"},
        memory="Earlier lessons.\n",
    )
    prompt = merge.prompt(aggregate)
    assert "Skill (not to be changed)" in prompt
    assert "Earlier lessons." in prompt["Current memory"]
    merge.answer(merge.found().wanted[0], append("A rule in words that no analyst used"))
    assert [one.document for one in merge.outcome().edits if isinstance(one, Edit)] == ["memory"]


# --- suggestions and rewrites


def test_suggestions_are_merged_with_their_provenance():
    merge = Merge(
        group(0, suggestion("Ask for a heading before each part.", "t1")),
        group(1, suggestion("Name the sources at the end.", "t2", title="Sources")),
        mode="rewrite_from_suggestions",
    )
    [job] = merge.found().wanted
    assert [row["instruction"] for row in shown(job, "suggestions")] == [
        "Ask for a heading before each part.",
        "Name the sources at the end.",
    ]
    rows = [{"type": "clarify", "instruction": "Ask for one heading before each part."}]
    merge.answer(job, *rows, key="revise_suggestions")
    [merged] = merge.outcome().edits
    assert (merged.instruction, merged.support) == (rows[0]["instruction"], ("t1",))


def test_suggestions_fall_back_to_all_of_them():
    one, two = suggestion("Headings.", "t1"), suggestion("Sources.", "t2")
    merge = Merge(group(0, one), group(1, two), mode="rewrite_from_suggestions")
    merge.answer(merge.found().wanted[0], key="revise_suggestions")
    found = merge.outcome()
    assert found.edits == (one, two)
    assert found.merges[0].problem == "the merge kept none of the suggestions"


def test_a_merged_rewrite_is_supported_by_the_tasks_of_all():
    merge = Merge(
        group(0, document("# A\n\nHeadings.\n", "t1")),
        group(1, document("# A\n\nSources.\n", "t2", "t1")),
        mode="full_rewrite_minibatch",
    )
    [job] = merge.found().wanted
    assert [row["new_skill"] for row in shown(job, "rewrites")] == [
        "# A\n\nHeadings.\n",
        "# A\n\nSources.\n",
    ]
    merge.answer(job, {"new_skill": "# B\n\nOther words.\n"}, key="skill_candidates")
    assert merge.outcome().edits == (document("# B\n\nOther words.\n", "t1", "t2"),)


def test_whole_documents_are_merged_beside_the_outline_they_were_written_from():
    frozen = "<!-- FROZEN_START -->\nNever shout.\n<!-- FROZEN_END -->"
    merge = Merge(
        group(0, document("# A\n\n<!-- KEEP 1 -->\n", "t1")),
        group(1, document("# B\n\n<!-- KEEP 1 -->\n", "t2")),
        mode="full_rewrite_minibatch",
        skill=f"# Greeter\n\n{frozen}\n",
    )
    shown_document = merge.prompt(aggregate)["Current skill"]
    assert "<!-- KEEP 1 -->" in shown_document
    assert "Never shout." not in shown_document


def test_rewrites_fall_back_to_the_first_and_say_so():
    failure = document("# A\n\nRepair.\n", "f1")
    success = document("# A\n\nHabit.\n", "s1", kind="success")
    merge = Merge(
        group(0, success, kind="success"), group(0, failure), mode="full_rewrite_minibatch"
    )
    merge.answer(merge.found().wanted[0], key="skill_candidates")
    found = merge.outcome()
    assert found.edits == (failure,)
    [report] = found.merges
    assert report.status == "fallback"
    assert report.problem.endswith("of 2 rewrites the first is kept")


def test_of_several_merged_rewrites_the_first_is_kept_and_that_is_told():
    merge = Merge(
        group(0, document("# A\n", "t1")),
        group(1, document("# B\n", "t2")),
        mode="full_rewrite_minibatch",
    )
    rows = [{"new_skill": "# C\n"}, {"new_skill": "# D\n"}]
    merge.answer(merge.found().wanted[0], *rows, key="skill_candidates")
    found = merge.outcome()
    assert [change.new_skill for change in found.edits] == ["# C\n"]
    assert "of 2 rewrites the first is kept" in found.merges[0].problem


# --- copies


def copying(guard: str, **more: Any) -> Merge:
    return Merge(
        group(0, rule("Headings", "t1")),
        group(1, rule("Brevity", "t2")),
        gradient={"copy_guard": guard},
        **more,
    )


def test_a_merged_edit_that_repeats_a_training_task_is_flagged():
    merge = copying("flag")
    merge.answer(merge.found().wanted[0], append(f"Remember: {SECRET}"), append("Headings"))
    found = merge.outcome()
    assert [one.copied_from for one in found.edits if isinstance(one, Edit)] == [("secret",), ()]
    assert found.blocked == ()


def test_a_merged_edit_that_repeats_a_training_task_is_blocked_where_asked_for():
    merge = copying("block")
    merge.answer(merge.found().wanted[0], append(f"Remember: {SECRET}"), append("Headings"))
    found = merge.outcome()
    assert contents(found) == ["Headings"]
    assert [one.copied_from for one in found.blocked if isinstance(one, Edit)] == [("secret",)]
    assert "repeat a training task's text" in found.merges[0].problem


def test_a_merge_of_which_everything_is_blocked_falls_back_to_the_inputs():
    merge = copying("block")
    merge.answer(merge.found().wanted[0], append(f"Remember: {SECRET}"))
    found = merge.outcome()
    assert contents(found) == ["Headings", "Brevity"]
    assert (found.merges[0].status, len(found.blocked)) == ("fallback", 1)


def test_without_the_guard_nothing_is_flagged():
    merge = copying("off")
    merge.answer(merge.found().wanted[0], append(f"Remember: {SECRET}"))
    [one] = merge.outcome().edits
    assert isinstance(one, Edit)
    assert one.copied_from == ()


def test_a_text_that_the_document_has_already_is_no_copy():
    plan = plan_with_secret(
        skill=f"# Greeter\n\n{SECRET}\n",
        settings={
            "gradient": {"merge_batch_size": 2, "copy_guard": "block"},
            "optimizer": {"learning_rate": 2, "min_learning_rate": 1},
        },
    )
    merge = Merge(group(0, rule("Headings", "t1")), group(1, rule("Brevity", "t2")), plan=plan)
    merge.answer(merge.found().wanted[0], append(SECRET))
    assert merge.outcome().blocked == ()
