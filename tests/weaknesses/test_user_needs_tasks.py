"""What users of optimizers asked for, as far as the loop answers it: tasks, A2, A3, A8 and A9."""

from __future__ import annotations

from typing import Any

import pytest
from config_workspace import Workspace, record
from scripted_models import unfenced
from scripted_run import SKILL, ScriptedRun, item, make_plan
from weakness_parts import (
    Scripted,
    append,
    finish,
    of_type,
    patch,
    prompts,
    summary_of,
    words_plan,
)

from skillopt.domain.events import Gated, Measured, Proposed, Reflected, Skipped
from skillopt.domain.item import Check, ExactJudge, Item, RuleJudge, Splits, TaskPrompt, Tool
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.envs.tasks import Turn, attempt
from skillopt.errors import InputError
from skillopt.judges import judge

# --- A2: what is wrong with the tasks is said before money is spent -------------------------------


def lint_of(workspace: Workspace, records: list[dict[str, object]]) -> str:
    workspace.write_records("tasks.jsonl", records)
    return "\n".join(workspace.load().lint)


PLACES = ("harbour", "mill", "orchard", "quarry", "chapel", "bridge", "tavern", "forge", "well")


def options(number: int, answer: str) -> dict[str, object]:
    place = PLACES[number % len(PLACES)]
    task = f"Who keeps the {place} in year {1900 + 7 * number}?\nA) the {place} cat\nB) nobody"
    return record(number, task=task, judge={"kind": "exact"}, answers=[answer])


def test_a2_an_answer_that_is_always_right_is_found(workspace: Workspace):
    assert "balance the answers" in lint_of(workspace, [options(n, "A") for n in range(12)])
    assert "balance" not in lint_of(workspace, [options(n, "AB"[n % 2]) for n in range(12)])


def test_a2_a_near_duplicate_across_splits_is_found(workspace: Workspace):
    long = "Write a letter to the tenants about the repairs of the {} roof next week, and say when"
    records = [
        record(n, task=f"{PLACES[n]}: {long.format(PLACES[n])} {PLACES[n]}", split=split)
        for n, split in enumerate(["train"] * 3 + ["val"] * 3 + ["test"] * 3)
    ]
    story = "Tell the story of a fisherman who finds a ring in a fish and gives it back to the king"
    records[0]["task"] = f"{story} of the northern isles, in five sentences, with a good end."
    records[3]["task"] = f"{story} of the northern isles, in five sentences, with a good end!"
    records[3]["judge"] = {"kind": "rule", "checks": [{"op": "contains", "arg": "ring"}]}
    records[3]["task"] += " Please."
    found = lint_of(workspace, records)
    assert "'t-3' of val and 't-0' of train" in found


# --- A3: held out means held out ------------------------------------------------------------------


def test_a3_tasks_that_are_both_learnt_from_and_judged_by_are_refused(workspace: Workspace):
    for split, first in (("train", 0), ("val", 100), ("test", 200)):
        rows = [record(n) | {"task_id": f"t-{first + n}"} for n in range(3)]
        if split == "test":
            rows = [record(n) for n in range(200, 203)]
        workspace.write_records(f"tasks/{split}.jsonl", rows)
    workspace.spec("", tasks="tasks")
    with pytest.raises(InputError) as caught:
        workspace.load()
    assert str(caught.value).count("the splits must be disjoint") == 3


# --- A8: nothing is learnt by heart ---------------------------------------------------------------

TALE = "The lighthouse keeper of Skagen polished seventeen brass lanterns before the storm."


def tale_plan(guard: str, **optimizer: Any) -> RunPlan:
    tale = Item(id="tale", prompt=TaskPrompt(task=TALE), judge=ExactJudge(answer="brass"))
    train = (tale, *(item(f"train-{n}", word) for n, word in enumerate(("beta", "gamma"))))
    splits = Splits(train=train, val=(item("v1", "alpha"), item("v2", "x")), test=())
    settings = {
        "train": {"num_epochs": 2, "batch_size": 3},
        "gradient": {"minibatch_size": 3, "copy_guard": guard},
        "optimizer": {"learning_rate": 3, **optimizer},
    }
    return make_plan(splits=splits, settings=settings)


#: It helps, so that only the guard can be in its way.
COPY = f"Always say alpha. For example: {TALE}"


def whole_text(parts: dict[str, str]) -> str:
    return f"{unfenced(parts['Current skill'])}\n\n{COPY}\n"


def copied_candidate(parts: dict[str, str]) -> dict[str, Any]:
    rows = [{"title": "t", "change_summary": [], "new_skill": whole_text(parts)}]
    return {"patch": {"reasoning": "so", "skill_candidates": rows}}


COPYING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an edit": ({}, {"reflect": patch(append(COPY))}),
    "a rewrite by suggestions": (
        {"skill_update_mode": "rewrite_from_suggestions"},
        {"rewrite": lambda parts: {"change_summary": [], "new_skill": whole_text(parts)}},
    ),
    "a whole candidate": (
        {"skill_update_mode": "full_rewrite_minibatch"},
        {"reflect": copied_candidate},
    ),
    "a note": (
        {"use_skill_aware_reflection": True},
        {"reflect": patch(appendix_notes=[COPY])},
    ),
    "guidance": (
        {"use_slow_update": True},
        {"reflect": patch(), "slow_update": {"slow_update_content": COPY}},
    ),
}


@pytest.mark.parametrize("how", COPYING)
def test_a8_a_task_is_not_copied_into_a_document_by_any_way(how):
    optimizer, replies = COPYING[how]
    blocked = finish(ScriptedRun(tale_plan("block", **optimizer), models=Scripted(replies=replies)))
    assert all("lighthouse" not in texts.skill for texts in blocked.state.texts.values())
    assert not of_type(blocked, Proposed)
    flagged = finish(ScriptedRun(tale_plan("flag", **optimizer), models=Scripted(replies=replies)))
    proposed = [event for event in of_type(flagged, Proposed) if TALE in event.text]
    assert proposed[0].copied_from == ("tale",)
    assert any(
        "repeat the text of train tasks: tale" in line for line in summary_of(flagged).warnings
    )


def test_a8_what_was_blocked_stays_visible():
    run = finish(ScriptedRun(tale_plan("block"), models=Scripted(replies=COPYING["an edit"][1])))
    blocked = [change for e in of_type(run, Reflected) for g in e.groups for change in g.blocked]
    assert blocked
    assert all(TALE in change.content for change in blocked)
    assert "copy guard" in of_type(run, Skipped)[0].detail


# --- A9: tools, and tasks that cannot be scored ---------------------------------------------------


def test_a9_a_task_that_cannot_be_scored_is_in_neither_arm_and_teaches_nothing():
    plan = words_plan(
        ["alpha", "beta", "secret"],
        ["alpha", "beta", "secret"],
        skill=f"{SKILL}Always say secret.\n",
    )
    run = finish(ScriptedRun(plan, filtered="secret"))
    measured = of_type(run, Measured)[0].measurement
    assert (measured.items["val-2-secret"].status, measured.hard, measured.n) == ("invalid", 0.0, 2)
    assert {gated.pairs for gated in of_type(run, Gated)} == {2}
    assert all("train-2-secret" not in prompt for prompt in prompts(run, "reflect"))
    assert any("cannot be scored and are left out: val-2" in w for w in summary_of(run).warnings)


def test_a9_a_tool_that_a_judge_wants_called_is_offered(workspace: Workspace):
    wants = {"kind": "rule", "checks": [{"op": "tool_called", "arg": "search"}]}
    workspace.write_records("tasks.jsonl", [record(n, judge=wants) for n in range(12)])
    for one in workspace.load().plan.splits.train:
        assert [tool.name for tool in one.prompt.tools] == ["search"]


def test_a9_a_tool_was_called_only_if_we_saw_it():
    prompt = TaskPrompt(task="Find it.", tools=(Tool(name="search", result="it is here"),))
    wants = RuleJudge(checks=(Check(op="tool_called", arg="search"),))
    boast = attempt(
        lambda messages, tools: Turn("I called search.", "stop"), prompt, "", "{{skill}}"
    )
    verdict = judge(wants, ReplyBody(text=boast.text, tools_called=boast.tools_called))
    assert isinstance(verdict, JudgementBody)
    assert verdict.hard == 0.0
    assert not isinstance(verdict, InvalidBody)
