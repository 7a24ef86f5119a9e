from __future__ import annotations

import json
from dataclasses import replace

from loop_values import Table, edit, reflected, step_of, with_step
from scripted_run import ScriptedRun, make_plan

from skillopt.domain.edits import Edit
from skillopt.domain.events import GroupReport, StepStarted
from skillopt.domain.messages import decode_messages
from skillopt.loop.aggregate import Merging, aggregate, distinct
from skillopt.loop.jobs import WantedJob


def group(shard: int, *edits: Edit, kind: str = "failure") -> GroupReport:
    tasks = tuple(dict.fromkeys(task for one in edits for task in one.support))
    return GroupReport.model_validate(
        {"shard": shard, "kind": kind, "items": tasks, "status": "ok", "edits": edits}
    )


def rule(text: str, *support: str, kind: str = "failure") -> Edit:
    return edit(text, source_type=kind, support=support)


class Merge:
    """A step whose groups proposed edits; merge calls are answered by the test."""

    def __init__(self, *groups: GroupReport, merge_batch_size: int = 2) -> None:
        gradient = {"minibatch_size": 2, "merge_batch_size": merge_batch_size}
        self.run = ScriptedRun(make_plan(settings={"gradient": gradient})).until(StepStarted)
        self.step = reflected(step_of(self.run), groups)
        self.state, self.facts = with_step(self.run.state, self.step), Table()

    def look(self) -> Merging:
        return aggregate(self.state, self.facts, self.run.factory, self.step)

    def answer(self, job: WantedJob, *rows: dict[str, str]) -> None:
        self.facts.reply(job.id, json.dumps({"reasoning": "why", "edits": list(rows)}))

    def answer_all_as_asked(self) -> Merging:
        while wanted := self.look().wanted:
            for job in wanted:
                kept = ("op", "target", "content")
                self.answer(job, *[{name: row[name] for name in kept} for row in shown(job)])
        return self.look()


def shown(job: WantedJob) -> list[dict[str, object]]:
    user = decode_messages(job.blobs[0])[1].content
    return json.loads(user.split("## Proposed edits\n\n")[1])


def append(content: str) -> dict[str, str]:
    return {"op": "append", "target": "", "content": content}


def test_no_edits_need_no_merge():
    found = Merge(group(0), group(1, kind="success")).look()
    assert (found.edits, found.wanted, found.reports) == ((), (), ())


def test_one_patch_needs_no_call():
    one = rule("Use headings.", "t1")
    found = Merge(group(0, one), group(1)).look()
    assert (found.edits, found.wanted) == ((one,), ())


def test_identical_patches_need_no_call_and_join_their_support():
    first, second = rule("Use headings.", "t1"), rule(" Use  headings.\n", "t2", "t1")
    found = Merge(group(0, first), group(1, second)).look()
    assert found.wanted == ()
    assert found.edits == (rule("Use headings.", "t1", "t2"),)


def test_a_patch_that_says_all_that_another_says_needs_no_call():
    a, b = rule("Use headings.", "t1"), rule("Be brief.", "t1")
    assert Merge(group(0, a, b), group(1, rule("Be brief.", "t2"))).look().wanted == ()


def test_literals_that_differ_in_case_are_different_edits():
    assert len(distinct([rule("End with DONE."), rule("End with Done.")])) == 2


def test_patches_are_merged_level_by_level():
    words = ("Headings", "Brevity", "Sources", "Tables", "Titles")
    merge = Merge(*[group(i, rule(word, f"t{i}")) for i, word in enumerate(words)])
    first = merge.look()
    assert [len(shown(job)) for job in first.wanted] == [2, 2], "a chunk of one passes unasked"
    assert first.edits is None
    found = merge.answer_all_as_asked()
    assert [edit.content for edit in found.edits or ()] == list(words)
    assert [(r.branch, r.level, r.inputs, r.status) for r in found.reports] == [
        ("failure", 1, 2, "merged"),
        ("failure", 1, 2, "merged"),
        ("failure", 2, 4, "merged"),
        ("failure", 3, 5, "merged"),
    ]


def test_a_level_waits_for_all_of_its_merges():
    merge = Merge(*[group(i, rule(f"Rule number {i}.", f"t{i}")) for i in range(4)])
    first, second = merge.look().wanted
    merge.answer(first, append("Rule number 0."))
    assert [job.id for job in merge.look().wanted] == [second.id]


def test_failures_and_successes_are_merged_apart_then_together_failures_first():
    merge = Merge(
        group(0, rule("Habit one.", "s1", kind="success"), kind="success"),
        group(0, rule("Repair one.", "f1")),
        group(1, rule("Habit two.", "s2", kind="success"), kind="success"),
        group(1, rule("Repair two.", "f2")),
    )
    branches = merge.look().wanted
    assert [[row["source_type"] for row in shown(job)] for job in branches] == [
        ["failure", "failure"],
        ["success", "success"],
    ]
    for job in branches:
        merge.answer(job, *[append(str(row["content"])) for row in shown(job)])
    [final] = merge.look().wanted
    assert [row["source_type"] for row in shown(final)] == ["failure"] * 2 + ["success"] * 2
    found = merge.answer_all_as_asked()
    assert [r.branch for r in found.reports] == ["failure", "success", "final"]
    assert [one.source_type for one in found.edits or ()] == ["failure"] * 2 + ["success"] * 2


def test_support_is_ours_whatever_the_model_claims():
    merge = Merge(
        group(0, rule("Write a heading before each part.", "t1", "t2")),
        group(1, rule("Name your sources.", "t3")),
    )
    [job] = merge.look().wanted
    assert [row["support"] for row in shown(job)] == [2, 1]
    merge.answer(
        job,
        {**append("Write one heading before each part."), "support_count": "99"},
        append("Name all your sources."),
        append("Something that neither analyst said, in words of its own"),
    )
    edits = merge.look().edits or ()
    assert [one.support for one in edits] == [("t1", "t2"), ("t3",), ("t1", "t2", "t3")]


def test_an_edit_of_the_same_target_inherits_the_support_whatever_its_words():
    merge = Merge(
        group(0, edit("Answer in one line.", "replace", "Be brief. Café.", support=("t1",))),
        group(1, rule("Name your sources.", "t2")),
    )
    [job] = merge.look().wanted
    target = {"op": "replace", "target": "Be brief. Café.", "content": "Completely other words"}
    merge.answer(job, target, append("Name your sources."))
    assert [one.support for one in merge.look().edits or ()] == [("t1",), ("t2",)]


def test_an_edit_that_joins_a_failure_and_a_success_counts_as_a_failure_edit():
    merge = Merge(
        group(0, rule("Use short headings in every part.", "f1")),
        group(0, rule("Use headings in every part.", "s1", kind="success"), kind="success"),
    )
    [job] = merge.look().wanted
    merge.answer(job, append("Use short headings in every part."))
    assert merge.look().edits == (rule("Use short headings in every part.", "f1", "s1"),)


def test_an_empty_merge_falls_back_to_all_edits_and_is_recorded():
    one, two = rule("Headings", "t1"), rule("Brevity", "t2")
    merge = Merge(group(0, one), group(1, two))
    merge.answer(merge.look().wanted[0])
    found = merge.look()
    assert found.edits == (one, two)
    [report] = found.reports
    assert (report.status, report.problem) == ("fallback", "the merge kept no edit")


def test_a_merge_that_cannot_be_read_twice_falls_back_too():
    one, two = rule("Headings", "t1"), rule("Brevity", "t2")
    merge = Merge(group(0, one), group(1, two))
    merge.facts.reply(merge.look().wanted[0].id, "no JSON")
    merge.facts.reply(merge.look().wanted[0].id, "no JSON again")
    found = merge.look()
    assert found.edits == (one, two)
    assert found.reports[0].status == "fallback"
    assert "asked again" in found.reports[0].problem


def test_a_repaired_merge_is_recorded_as_such():
    merge = Merge(group(0, rule("Headings", "t1")), group(1, rule("Brevity", "t2")))
    merge.facts.reply(merge.look().wanted[0].id, "no JSON")
    merge.answer(merge.look().wanted[0], append("Headings"))
    assert [report.status for report in merge.look().reports] == ["repaired"]


def test_a_merge_that_was_given_up_is_neither_merged_nor_fallen_back():
    merge = Merge(group(0, rule("Headings", "t1")), group(1, rule("Brevity", "t2")))
    job = merge.look().wanted[0]
    merge.state = replace(merge.state, given_up={job.id: "timeout: 120 s"})
    found = merge.look()
    assert (found.edits, found.wanted, found.given_up) == (None, (), "timeout: 120 s")


def test_the_prompt_shows_the_skill_and_numbers_the_edits():
    merge = Merge(group(0, rule("Headings", "t1")), group(1, rule("Brevity", "t2")))
    [job] = merge.look().wanted
    system, user = decode_messages(job.blobs[0])
    assert system.content == merge.run.plan.templates["merge"]
    assert user.content.count(merge.run.plan.skill.strip()) == 1
    assert [row["index"] for row in shown(job)] == [0, 1]
