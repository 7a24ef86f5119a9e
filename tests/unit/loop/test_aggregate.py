from __future__ import annotations

import json
from dataclasses import replace

import pytest
from merge_values import Merge, append, contents, rule, shown
from stage_values import group, messages_of, suggestion

from skillopt.loop.aggregate import aggregate
from skillopt.loop.prompt_parts import CHANGES_LIMIT


def test_no_edits_need_no_merge():
    found = Merge(group(0), group(1, kind="success")).outcome()
    assert (found.edits, found.merges) == ((), ())


def test_one_patch_needs_no_call():
    one = rule("Use headings.", "t1")
    assert Merge(group(0, one), group(1)).outcome().edits == (one,)


def test_identical_patches_need_no_call_and_join_their_support():
    first, second = rule("Use headings.", "t1"), rule(" Use  headings.\n", "t2", "t1")
    merge = Merge(group(0, first), group(1, second))
    assert merge.outcome().edits == (rule("Use headings.", "t1", "t2"),)


def test_a_patch_that_says_all_that_another_says_needs_no_call():
    a, b = rule("Use headings.", "t1"), rule("Be brief.", "t1")
    assert Merge(group(0, a, b), group(1, rule("Be brief.", "t2"))).found().wanted == ()


def test_patches_are_merged_level_by_level():
    words = ("Headings", "Brevity", "Sources", "Tables", "Titles")
    merge = Merge(*[group(i, rule(word, f"t{i}")) for i, word in enumerate(words)])
    first = merge.found()
    assert [len(shown(job)) for job in first.wanted] == [2, 2], "a chunk of one passes unasked"
    assert first.event is None
    found = merge.answer_all_as_asked()
    assert contents(found) == list(words)
    assert [(r.branch, r.level, r.inputs, r.status) for r in found.merges] == [
        ("failure", 1, 2, "merged"),
        ("failure", 1, 2, "merged"),
        ("failure", 2, 4, "merged"),
        ("failure", 3, 5, "merged"),
    ]


def test_a_level_waits_for_all_of_its_merges():
    merge = Merge(*[group(i, rule(f"Rule number {i}.", f"t{i}")) for i in range(4)])
    first, second = merge.found().wanted
    merge.answer(first, append("Rule number 0."))
    assert [job.id for job in merge.found().wanted] == [second.id]


def test_both_branches_are_asked_at_once_and_then_merged_failures_first():
    merge = Merge(
        group(0, rule("Habit one.", "s1", kind="success"), kind="success"),
        group(0, rule("Repair one.", "f1")),
        group(1, rule("Habit two.", "s2", kind="success"), kind="success"),
        group(1, rule("Repair two.", "f2")),
    )
    branches = merge.found().wanted
    assert [[row["source_type"] for row in shown(job)] for job in branches] == [
        ["failure", "failure"],
        ["success", "success"],
    ]
    for job in branches:
        merge.answer(job, *[append(str(row["content"])) for row in shown(job)])
    [final] = merge.found().wanted
    assert [row["source_type"] for row in shown(final)] == ["failure"] * 2 + ["success"] * 2
    found = merge.answer_all_as_asked()
    assert [report.branch for report in found.merges] == ["failure", "success", "final"]
    assert [one.source_type for one in found.edits] == ["failure"] * 2 + ["success"] * 2


def test_a_later_level_of_one_branch_does_not_wait_for_the_other():
    failures = [group(i, rule(f"Repair number {i}.", f"f{i}")) for i in range(2)]
    successes = [
        group(i, rule(f"Habit number {i}.", f"s{i}", kind="success"), kind="success")
        for i in range(4)
    ]
    merge = Merge(*failures, *successes)
    _failure, *level_one = merge.found().wanted
    for job in level_one:
        merge.answer(job, *[append(str(row["content"])) for row in shown(job)])
    assert [len(shown(job)) for job in merge.found().wanted] == [2, 4]


def test_what_a_contrast_taught_is_merged_with_the_failures():
    merge = Merge(
        group(0, rule("Habit.", "s1", kind="success"), kind="success"),
        group(0, rule("Repair.", "f1")),
        group(0, rule("What made the difference.", "c1"), kind="contrast"),
    )
    [job] = merge.found().wanted
    assert [row["content"] for row in shown(job)] == ["Repair.", "What made the difference."]
    found = merge.answer_all_as_asked()
    assert contents(found)[-1] == "Habit."


def test_an_empty_merge_falls_back_to_all_edits_in_order_and_is_recorded():
    one, two = rule("Headings", "t1"), rule("Brevity", "t2")
    merge = Merge(group(0, one), group(1, two))
    merge.answer(merge.found().wanted[0])
    found = merge.outcome()
    assert found.edits == (one, two)
    [report] = found.merges
    assert (report.status, report.problem) == ("fallback", "the merge kept none of the edits")


def test_an_empty_final_merge_keeps_failures_before_successes():
    success = rule("Habit.", "s1", kind="success")
    merge = Merge(group(0, success, kind="success"), group(0, rule("Repair.", "f1")))
    merge.answer(merge.found().wanted[0])
    assert contents(merge.outcome()) == ["Repair.", "Habit."]


def test_a_merge_that_cannot_be_read_twice_falls_back_too():
    one, two = rule("Headings", "t1"), rule("Brevity", "t2")
    merge = Merge(group(0, one), group(1, two))
    merge.reply(aggregate, "no JSON")
    merge.reply(aggregate, "no JSON again")
    found = merge.outcome()
    assert found.edits == (one, two)
    assert found.merges[0].status == "fallback"
    assert "asked again" in found.merges[0].problem


def test_a_merge_whose_every_row_is_unusable_falls_back_and_says_why():
    one, two = rule("Headings", "t1"), rule("Brevity", "t2")
    merge = Merge(group(0, one), group(1, two))
    found = merge.reply(aggregate, {"edits": [{"op": "paint"}, 7]}).event
    assert found.edits == (one, two)
    assert found.merges[0].status == "fallback"
    assert "'paint'" in found.merges[0].problem


def test_a_usable_row_beside_an_unusable_one_is_kept_and_the_other_is_told():
    merge = Merge(group(0, rule("Headings", "t1")), group(1, rule("Brevity", "t2")))
    found = merge.reply(aggregate, {"edits": [append("Headings"), {"op": "paint"}]}).event
    assert contents(found) == ["Headings"]
    assert found.merges[0].status == "merged"
    assert "'paint'" in found.merges[0].problem


def test_a_repaired_merge_is_recorded_as_such():
    merge = Merge(group(0, rule("Headings", "t1")), group(1, rule("Brevity", "t2")))
    merge.reply(aggregate, "no JSON")
    merge.answer(merge.found().wanted[0], append("Headings"))
    assert [report.status for report in merge.outcome().merges] == ["repaired"]


def test_a_merge_that_was_given_up_is_neither_merged_nor_fallen_back():
    merge = Merge(group(0, rule("Headings", "t1")), group(1, rule("Brevity", "t2")))
    found = merge.give_up(aggregate, "timeout: 120 s")
    assert (found.event, found.wanted, found.given_up) == (None, (), "timeout: 120 s")


def test_the_prompt_shows_the_skill_the_meta_skill_and_numbers_the_edits():
    merge = Merge(
        group(0, rule("Headings", "t1")),
        group(1, rule("Brevity", "t2")),
        meta_skill="Small edits survive.",
    )
    prompt = merge.prompt(aggregate)
    assert merge.plan.skill.strip() in prompt["Current skill"]
    assert prompt["What editing has taught so far"] == "Small edits survive."
    assert [row["index"] for row in json.loads(prompt["Proposed edits"])] == [0, 1]


def test_without_a_meta_skill_the_prompt_does_not_speak_of_one():
    merge = Merge(group(0, rule("Headings", "t1")), group(1, rule("Brevity", "t2")))
    assert list(merge.prompt(aggregate)) == ["Current skill", "Proposed edits"]


@pytest.mark.parametrize(
    ("mode", "form"),
    [
        ("patch", "Answer with edits."),
        ("rewrite_from_suggestions", "Answer with revise_suggestions."),
        ("full_rewrite_minibatch", "Answer with skill_candidates."),
    ],
)
def test_the_system_message_asks_for_the_form_of_the_mode(mode, form):
    merge = Merge(
        group(0, suggestion("Headings", "t1")), group(1, suggestion("Brevity", "t2")), mode=mode
    )
    [job] = merge.found().wanted
    assert form in messages_of(job)[0].content


# --- replies of any sort


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Nothing to merge.",
        "[]",
        "null",
        '{"edits": null}',
        '{"edits": {"op": "append"}}',
        '{"edits": [null, 1, "x", []]}',
        '{"edits": [{"op": null, "target": null, "content": null}]}',
        '{"edits": [{"op": "append", "content": ' + '"' + "x" * 1_000_000 + '"}]}',
        '{"edits": [{"op": "append", "content": "<!-- APPENDIX_START -->"}]}',
        '{"edits": [{"op": "append", "content": "cut off',
        "{" * 5_000,
    ],
    ids=lambda text: text[:30],
)
def test_no_reply_loses_the_edits_or_ends_the_run(text):
    one, two = rule("Headings", "t1"), rule("Brevity", "t2")
    merge = Merge(group(0, one), group(1, two))
    found = merge.reply(aggregate, text)
    if found.wanted:
        found = merge.reply(aggregate, text)
    assert found.event.edits == (one, two)
    assert found.event.merges[0].status == "fallback"
    assert found.event.merges[0].problem


def test_a_merge_is_looked_at_without_changing_the_step():
    merge = Merge(group(0, rule("Headings", "t1")), group(1, rule("Brevity", "t2")))
    before = replace(merge.step)
    merge.found()
    assert merge.step == before


def test_changes_that_fit_into_no_prompt_are_kept_without_asking():
    one, other = (rule(f"{name} " * (CHANGES_LIMIT // 4), name) for name in ("left", "right"))
    found = Merge(group(0, one), group(1, other)).outcome()
    assert found.edits == (one, other)
    [report] = found.merges
    assert (report.status, report.inputs) == ("fallback", 2)
    assert "characters of edits do not fit into one prompt" in report.problem
