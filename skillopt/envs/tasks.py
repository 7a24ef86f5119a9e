"""The default environment: a task is a prompt, its answer is a text, its tools are answered here.

The broker that answers tool calls is ours: a call counts because we saw it, never because the
text says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from skillopt.domain.item import TaskPrompt, Tool
from skillopt.domain.messages import Message, ToolCall
from skillopt.domain.templates import fill
from skillopt.envs.attachments import shown_images, shown_texts

#: Turns a target may take before its answer must stand.
MAX_TURNS = 8

#: Where a task's own system prompt wants the skill.
SKILL_SLOT = "{skill_section}"

#: Where the attempt template wants the memory; without it, at the end.
MEMORY_SLOT = "{{memory}}"


@dataclass(frozen=True)
class Turn:
    """One answer of the target: a text, or calls of tools."""

    text: str
    finish_reason: str
    refused: bool = False
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class AttemptResult:
    text: str
    finish_reason: str
    tools_called: tuple[str, ...]
    #: Everything that was said, the last answer included.
    messages: tuple[Message, ...]


Chat = Callable[[Sequence[Message], Sequence[Tool]], Turn]


def first_messages(
    prompt: TaskPrompt,
    skill: str,
    template: str,
    memory: str = "",
    files: Mapping[str, bytes] | None = None,
) -> tuple[Message, ...]:
    """Put a task to the target: the documents in the system prompt, the task in the user's.

    `files`: the contents of the task's attachments by path, to be shown below it; None if the
    target finds them in a folder of its own.
    """
    remembered = f"## Memory\n\n{memory.strip()}\n" if memory.strip() else ""
    if prompt.system:
        block = f"## Skill\n\n{skill.strip()}\n"
        if remembered:
            block = f"{block}\n{remembered}"
        has_slot = SKILL_SLOT in prompt.system
        system = (
            prompt.system.replace(SKILL_SLOT, block) if has_slot else f"{block}\n{prompt.system}"
        )
    else:
        if remembered and MEMORY_SLOT not in template:
            template = f"{template.rstrip()}\n\n{MEMORY_SLOT}"
        system = fill(template, {"skill": skill.strip(), "memory": remembered})
    return (Message(role="system", content=system), _question(prompt, files))


def _question(prompt: TaskPrompt, files: Mapping[str, bytes] | None) -> Message:
    if files is None or not prompt.attachments:
        return Message(role="user", content=prompt.text)
    shown = shown_texts(prompt.attachments, files)
    images = shown_images(prompt.attachments, files)
    return Message(role="user", content=f"{prompt.text}\n\n{shown}", images=images)


def attempt(
    chat: Chat,
    prompt: TaskPrompt,
    skill: str,
    template: str,
    memory: str = "",
    files: Mapping[str, bytes] | None = None,
) -> AttemptResult:
    """Let the target work on a task until it answers without calling a tool."""
    messages = list(first_messages(prompt, skill, template, memory, files))
    offered = {tool.name: tool for tool in prompt.tools}
    called: list[str] = []
    for turn_number in range(MAX_TURNS):
        last = turn_number == MAX_TURNS - 1
        turn = chat(messages, () if last else prompt.tools)
        messages.append(Message(role="assistant", content=turn.text, tool_calls=turn.tool_calls))
        if not turn.tool_calls:
            break
        for call in turn.tool_calls:
            tool = offered.get(call.name)
            if tool is not None:
                called.append(tool.name)
            result = tool.result if tool else f"there is no tool named {call.name!r}"
            messages.append(Message(role="tool", content=result, tool_call_id=call.id))
    reason = "refusal" if turn.refused else turn.finish_reason
    return AttemptResult(turn.text, reason, tuple(called), tuple(messages))
