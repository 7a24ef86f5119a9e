"""Replies: what models answer is read with care and never taken at its word."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from scripted_models import sections
from scripted_run import ScriptedRun, make_plan
from weakness_parts import (
    Scripted,
    append,
    finish,
    of_type,
    patch,
    prompts,
    words_plan,
)

from skillopt.domain.events import Merged, Reflected

# --- 11: rows and fields that are not as they should be -------------------------------------------

BROKEN_ROWS: tuple[Any, ...] = (
    None,
    7,
    "append something",
    ["append"],
    {},
    {"op": None, "target": None, "content": None},
    {"op": "replace", "target": None, "content": "x"},
    {"op": "append", "content": {"text": "x"}},
    {"op": "append", "target": ["a"], "content": "x"},
    {"op": "add", "target": "", "content": "x"},
)


def good(word: str) -> dict[str, Any]:
    return {"op": "append", "target": None, "content": f"Always say {word}."}


BROKEN_FIELDS = {
    "batch_size": "eight or so",
    "failure_summary": "many",
    "success_patterns": {"a": 1},
    "appendix_notes": 5,
}


def broken_analyst(parts: dict[str, str]) -> dict[str, Any]:
    failed = re.findall(r"^- say (\w+)", parts.get("Failing criteria", ""), re.MULTILINE)
    return patch(*BROKEN_ROWS, *map(good, failed), **BROKEN_FIELDS)


def broken_merge(parts: dict[str, str]) -> dict[str, Any]:
    rows = json.loads(parts["Proposed edits"])
    kept = [{"op": row["op"], "target": None, "content": row["content"]} for row in rows]
    return {"reasoning": 3, "edits": [*BROKEN_ROWS, *kept]}


def test_w11_broken_parts_of_a_reply_cost_neither_the_run_nor_the_good_parts():
    """The defect: a null target, a number in words or a row that is no object ended the run."""
    replies = {
        "reflect": broken_analyst,
        "merge": broken_merge,
        "rank": {"selected_indices": [True, "0", None, -1, 99, 1.5, 1, 0]},
    }
    run = finish(ScriptedRun(models=Scripted(replies=replies)))
    assert run.state.finished
    plain = finish(ScriptedRun())
    assert run.state.texts[run.state.best].skill.count("Always say") == plain.state.texts[
        plain.state.best
    ].skill.count("Always say")
    groups = [group for event in of_type(run, Reflected) for group in event.groups]
    assert {group.status for group in groups} == {"ok"}
    assert any(group.edits for group in groups)
    assert all("patch.edits[0] is null" in group.problem for group in groups)
    merges = [report for event in of_type(run, Merged) for report in event.merges]
    assert merges
    assert {report.status for report in merges} == {"merged"}


@pytest.mark.parametrize("rate", ["2", 2.0, "two", None, True, -3, 10**9, [2]])
def test_w11_no_answer_on_the_budget_ends_a_run(rate):
    """The defect: a number that was none raised an error that nobody caught."""
    settings = {"optimizer": {"learning_rate": 2, "lr_control_mode": "autonomous"}}
    replies = {"learning_rate": {"learning_rate": rate, "confidence": "high", "risk_notes": 1}}
    assert finish(
        ScriptedRun(make_plan(settings=settings), models=Scripted(replies=replies))
    ).state.finished


# --- 12: what analysts are told of the past -------------------------------------------------------


def test_w12_counts_of_failures_are_counted_and_stand_with_their_own_criterion():
    """The defect: names of failures and their counts were put together by their position."""
    invented = [
        {"failure_type": "zebra", "count": 777, "description": "a zebra pattern"},
        {"failure_type": "yak", "count": 1, "description": "a yak pattern"},
    ]
    analyst = {
        "reflect": lambda parts: patch(append(f"Try {len(str(parts))}."), failure_summary=invented)
    }
    plan = words_plan(
        ["alpha", "alpha", "alpha", "beta"],
        ["alpha", "beta"],
        settings={"gradient": {"minibatch_size": 4}, "train": {"num_epochs": 3, "batch_size": 4}},
    )
    run = finish(ScriptedRun(plan, models=Scripted(replies=analyst)))
    asked = prompts(run, "reflect")
    assert len(asked) == 3
    for prompt in asked:
        lines = sections(prompt)["Failing criteria"].splitlines()
        assert lines == [
            "- say alpha (failed in 3 of 3 attempts)",
            "- say beta (failed in 1 of 1 attempts)",
        ]
        assert not re.search("777|zebra|yak", prompt)


def test_w12_each_earlier_step_is_told_with_its_own_edits():
    """The defect: what a step had tried was told beside what had become of another."""
    analyst = {
        "reflect": lambda parts: patch(append(f"Try {len(parts.get('Earlier steps', ''))}."))
    }
    plan = make_plan(settings={"train": {"num_epochs": 1, "batch_size": 2}})
    run = finish(ScriptedRun(plan, models=Scripted(replies=analyst)))
    tried = [step.selected.edits[0].content for step in run.state.steps if step.selected]
    assert len(set(tried)) == len(tried) == 4
    told = sections(prompts(run, "reflect")[-1])["Earlier steps"]
    entries = re.split(r"^(?=- Step)", told, flags=re.MULTILINE)[1:]
    assert len(entries) == 3
    for number, entry in enumerate(entries, start=1):
        assert entry.startswith(f"- Step {number} was REJECTED: ")
        assert [text for text in tried if json.dumps(text) in entry] == [tried[number - 1]]


# --- 13: merging ----------------------------------------------------------------------------------

DISTINCT = {
    "alpha": "Ants answer aloud.",
    "beta": "Bees bring bread.",
    "gamma": "Geese guard gates.",
    "delta": "Dogs dig deep.",
}


def lesson_of(parts: dict[str, str]) -> dict[str, Any]:
    words = re.findall(r"^- say (\w+)", parts["Failing criteria"], re.MULTILINE)
    rows = [append(DISTINCT[word]) | {"support_count": 99, "support": ["x"]} for word in words]
    return patch(*rows)


def merging_run(**replies: Any) -> ScriptedRun:
    plan = words_plan(
        tuple(DISTINCT),
        tuple(DISTINCT),
        settings={
            "train": {"num_epochs": 1, "batch_size": 4},
            "gradient": {"minibatch_size": 1, "merge_batch_size": 4},
            "optimizer": {"learning_rate": 4},
        },
    )
    return finish(ScriptedRun(plan, models=Scripted(replies={"reflect": lesson_of, **replies})))


def test_w13_a_merge_cannot_erase_what_was_learnt():
    """The defect: an empty merge was a valid one, and all edits of the step were gone."""
    run = merging_run(merge={"reasoning": "none is needed", "edits": []})
    [merged] = of_type(run, Merged)
    assert {edit.content for edit in merged.edits} == set(DISTINCT.values())
    assert [report.status for report in merged.merges] == ["fallback"]
    assert "kept none" in merged.merges[0].problem


def test_w13_the_tasks_behind_an_edit_are_known_not_guessed():
    """The defect: how many attempts supported an edit was whatever the model said."""

    def boasting(parts: dict[str, str]) -> dict[str, Any]:
        rows = json.loads(parts["Proposed edits"])
        assert {row["support"] for row in rows} == {1}
        return {"edits": [append(row["content"]) | {"support_count": 99} for row in rows]}

    run = merging_run(merge=boasting)
    [merged] = of_type(run, Merged)
    for edit in merged.edits:
        word = next(word for word, lesson in DISTINCT.items() if lesson == edit.content)
        assert [task.rpartition("-")[2] for task in edit.support] == [word]
