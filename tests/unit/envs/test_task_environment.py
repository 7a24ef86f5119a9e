"""How a task is put to the target, and how its tools are answered."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from skillopt.domain.item import TaskPrompt, Tool
from skillopt.domain.messages import Message, ToolCall
from skillopt.envs.tasks import MAX_TURNS, SKILL_SLOT, Turn, attempt, first_messages

SKILL = "\n# Skill\n\nAlways be brief.\n\n"
TEMPLATE = "You are an assistant.\n\n{{skill}}\n"
LOOK = Tool(name="look", description="Look something up.", result="42")


class Model:
    """Says what the script says; the last turn is repeated."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.seen: list[tuple[Message, ...]] = []
        self.offered: list[tuple[str, ...]] = []

    def __call__(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Turn:
        self.seen.append(tuple(messages))
        self.offered.append(tuple(tool.name for tool in tools))
        return self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]


def calling(*names: str, text: str = "") -> Turn:
    calls = tuple(ToolCall(id=f"c{n}", name=name) for n, name in enumerate(names))
    return Turn(text, "tool_calls", tool_calls=calls)


# --- the first messages -------------------------------------------------------------------------


def test_the_skill_is_in_the_system_prompt_and_the_task_in_the_users() -> None:
    system, user = first_messages(TaskPrompt(task="Write."), SKILL, TEMPLATE)
    assert (system.role, user.role) == ("system", "user")
    assert system.content == "You are an assistant.\n\n# Skill\n\nAlways be brief.\n"
    assert user.content == "Write."


def test_context_follows_the_task() -> None:
    _, user = first_messages(TaskPrompt(task="Write.", context="Facts."), SKILL, TEMPLATE)
    assert user.content == "Write.\n\n## Context\n\nFacts."


def test_a_system_prompt_of_the_task_takes_the_skill_where_it_has_a_slot() -> None:
    prompt = TaskPrompt(task="Write.", system=f"You are Ada.\n\n{SKILL_SLOT}\nEnd.")
    system, _ = first_messages(prompt, SKILL, TEMPLATE)
    assert system.content == "You are Ada.\n\n## Skill\n\n# Skill\n\nAlways be brief.\n\nEnd."


def test_a_system_prompt_without_a_slot_follows_the_skill() -> None:
    system, _ = first_messages(TaskPrompt(task="Write.", system="You are Ada."), SKILL, TEMPLATE)
    assert system.content == "## Skill\n\n# Skill\n\nAlways be brief.\n\nYou are Ada."


@pytest.mark.parametrize("skill", ["{{skill}} {{task}}", SKILL_SLOT, r"\1 {braces} $x"])
@pytest.mark.parametrize("system", ["", SKILL_SLOT])
def test_a_skill_that_looks_like_a_template_stays_as_it_is(skill: str, system: str) -> None:
    message, _ = first_messages(TaskPrompt(task="Write.", system=system), skill, TEMPLATE)
    assert message.content.count(skill) == 1


# --- the tool loop ------------------------------------------------------------------------------


def test_an_answer_without_tools_takes_one_turn() -> None:
    model = Model(Turn("Done.", "stop"))
    result = attempt(model, TaskPrompt(task="Write."), SKILL, TEMPLATE)
    assert (result.text, result.finish_reason, result.tools_called) == ("Done.", "stop", ())
    assert len(model.seen) == 1
    assert result.messages[-1] == Message(role="assistant", content="Done.")


def test_a_call_is_answered_and_counts() -> None:
    model = Model(calling("look", text="Let me see."), Turn("It is 42.", "stop"))
    result = attempt(model, TaskPrompt(task="?", tools=(LOOK,)), SKILL, TEMPLATE)
    assert result.tools_called == ("look",)
    assert result.text == "It is 42."
    assert [message.role for message in result.messages] == [
        *("system", "user", "assistant", "tool", "assistant"),
    ]
    told = model.seen[1][-1]
    assert (told.content, told.tool_call_id) == ("42", "c0")


@pytest.mark.parametrize("text", ['look({"q": 1})', "<tool>look</tool>", "I called look: 42"])
def test_a_call_that_the_text_only_claims_does_not_count(text: str) -> None:
    model = Model(Turn(text, "stop"))
    result = attempt(model, TaskPrompt(task="?", tools=(LOOK,)), SKILL, TEMPLATE)
    assert result.tools_called == ()


def test_an_unknown_tool_is_answered_and_does_not_count() -> None:
    model = Model(calling("destroy", "look"), Turn("Ok.", "stop"))
    result = attempt(model, TaskPrompt(task="?", tools=(LOOK,)), SKILL, TEMPLATE)
    assert result.tools_called == ("look",)
    answers = [message for message in result.messages if message.role == "tool"]
    assert [(answer.tool_call_id, answer.content) for answer in answers] == [
        ("c0", "there is no tool named 'destroy'"),
        ("c1", "42"),
    ]


def test_every_call_of_a_turn_counts_in_order() -> None:
    both = TaskPrompt(task="?", tools=(LOOK, Tool(name="count", result="3")))
    model = Model(calling("count", "look", "count"), Turn("Ok.", "stop"))
    assert attempt(model, both, SKILL, TEMPLATE).tools_called == ("count", "look", "count")


def test_turns_are_bounded_and_the_last_offers_no_tool() -> None:
    model = Model(calling("look"))
    result = attempt(model, TaskPrompt(task="?", tools=(LOOK,)), SKILL, TEMPLATE)
    assert len(model.seen) == MAX_TURNS
    assert model.offered == [("look",)] * (MAX_TURNS - 1) + [()]
    assert result.text == ""


def test_a_refusal_is_named_as_the_reason() -> None:
    model = Model(Turn("No.", "stop", refused=True))
    result = attempt(model, TaskPrompt(task="?"), SKILL, TEMPLATE)
    assert result.finish_reason == "refusal"


# --- the memory document ------------------------------------------------------------------------


def test_a_memory_follows_the_skill_where_the_template_wants_it() -> None:
    template = "Obey.\n\n{{skill}}\n\n{{memory}}\nEnd.\n"
    system, _ = first_messages(TaskPrompt(task="Write."), SKILL, template, "Say please.\n")
    assert system.content == (
        "Obey.\n\n# Skill\n\nAlways be brief.\n\n## Memory\n\nSay please.\n\nEnd.\n"
    )


def test_a_template_without_a_slot_gets_the_memory_at_its_end() -> None:
    system, _ = first_messages(TaskPrompt(task="Write."), SKILL, TEMPLATE, "Say please.")
    assert system.content.endswith("Always be brief.\n\n## Memory\n\nSay please.\n")


def test_a_system_prompt_of_the_task_gets_the_memory_with_the_skill() -> None:
    prompt = TaskPrompt(task="Write.", system=f"You are Ada.\n\n{SKILL_SLOT}End.")
    system, _ = first_messages(prompt, SKILL, TEMPLATE, "Say please.")
    assert system.content == (
        "You are Ada.\n\n## Skill\n\n# Skill\n\nAlways be brief.\n\n## Memory\n\nSay please.\nEnd."
    )


def test_an_empty_memory_leaves_no_trace() -> None:
    with_none = first_messages(TaskPrompt(task="Write."), SKILL, TEMPLATE)
    assert first_messages(TaskPrompt(task="Write."), SKILL, TEMPLATE, " \n") == with_none
