"""Judge, analyst and target understand each other: every check the judges know can be learnt."""

from __future__ import annotations

import json

import pytest

from skillopt.domain.item import Check, RuleJudge, TaskPrompt, Tool
from skillopt.domain.messages import ToolCall
from skillopt.domain.results import ReplyBody
from skillopt.envs.tasks import Turn, attempt
from skillopt.judges.operations import OPERATIONS
from skillopt.judges.registry import judge
from skillopt.loop.templates import packaged

SKILL = """---
name: notes
triggers:
  - "write a note"
---

# Notes

When asked, write a short, clear note that answers the question. Lead with the answer.
"""
#: For each operation: an argument, and what the skill says besides.
CHECKS = {
    "contains": ("## Key Risks", ""),
    "not_contains": ("library", ""),
    "regex": (r"[Cc]onfidence\s*[:=]", ""),
    "section_present": ("Key Risks", ""),
    "section_contains": ("Risks", ""),
    "max_chars": (1200, "Explore every angle and be exhaustive. Write multiple paragraphs."),
    "min_chars": (1500, ""),
    "no_refusal": (None, "Decline what you are asked."),
    "tool_called": ("search", "Do NOT look anything up, search, or use any tools."),
}


@pytest.fixture
def score(ask):
    """Attempt a task with a skill and judge the answer."""

    def chat(messages, tools):
        sent = []
        for message in messages:
            entry = {"role": message.role, "content": message.content}
            if message.tool_calls:
                entry["tool_calls"] = [
                    {"id": c.id, "function": {"name": c.name, "arguments": c.arguments}}
                    for c in message.tool_calls
                ]
            if message.role == "tool":
                entry["tool_call_id"] = message.tool_call_id
            sent.append(entry)
        offered = [{"type": "function", "function": {"name": tool.name}} for tool in tools]
        reply = ask(messages=sent, tools=offered)
        calls = ()
        if reply.tool is not None:
            calls = (ToolCall(id="call_1", name=reply.tool, arguments=reply.tool_arguments),)
        return Turn(reply.text, reply.finish_reason, tool_calls=calls)

    def scored(task, skill, checks):
        prompt = TaskPrompt(task=task, tools=(Tool(name="search", result="It is open on Mondays"),))
        made = attempt(chat, prompt, skill, packaged()["attempt"])
        body = ReplyBody(text=made.text, tools_called=made.tools_called)
        return judge(RuleJudge(checks=checks), body)

    return scored


def learnt(ask, prompts, skill, judgement):
    """Let the analyst edit a skill after one failed attempt."""
    failing = "\n".join(
        f"- {criterion.requirement} (failed in 1 of 1 attempts)"
        for criterion in judgement.criteria
        if not criterion.passed
    )
    prompt = (
        f"## Current skill\n\n~~~~\n{skill}\n~~~~\n\n## Edits wanted\n\nPropose at most 4 edits.\n"
        f"\n## Failing criteria\n\n{failing}\n"
    )
    reply = json.loads(ask(prompt, prompts("reflect_failure")).text)
    for edit in reply["patch"]["edits"]:
        if edit["op"] == "replace":
            skill = skill.replace(edit["target"], edit["content"])
        else:
            skill += f"\n{edit['content']}"
    return skill


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_failed_check_is_learnt_and_holds_for_other_tasks(ask, prompts, score, operation):
    argument, spoiler = CHECKS[operation]
    checks = (Check(op=operation, arg=argument),)
    skill = f"{SKILL}\n{spoiler}\n"
    first = score("Write a note on whether the library should open on Sundays.", skill, checks)
    better = learnt(ask, prompts, skill, first)

    assert first.hard == 0.0
    for task in ("Write a note on a library for the school.", "Write a note on street lamps."):
        assert score(task, better, checks).hard == 1.0


def test_what_was_learnt_as_a_text_holds_as_a_section_and_a_pattern(ask, prompts, score):
    train = (Check(op="contains", arg="## Key Risks"), Check(op="contains", arg="Confidence:"))
    held_out = (
        Check(op="section_present", arg="Key Risks"),
        Check(op="regex", arg=r"[Cc]onfidence\s*[:=]"),
    )
    better = learnt(ask, prompts, SKILL, score("Write a note on buses.", SKILL, train))

    assert score("Write a note on trams.", SKILL, held_out).soft == 0.0
    assert score("Write a note on trams.", better, held_out).hard == 1.0
