"""What an agent backend does beyond a chat backend: a whole attempt in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from skillopt.backends.base import ChatBackend
from skillopt.backends.cli.workspace import WorkspaceFile
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message, ToolCall
from skillopt.domain.usage import Usage


@dataclass(frozen=True)
class Assignment:
    """One task put to an agent, with the documents it works with."""

    #: Makes the first messages from whatever stands for the skill: its text, or where it lies.
    messages: Callable[[str], Sequence[Message]]
    skill: str
    #: What lies beside SKILL.md in the skill's folder.
    skill_files: tuple[WorkspaceFile, ...] = ()
    #: Laid into the working folder; paths are relative and stay inside it.
    files: tuple[WorkspaceFile, ...] = ()
    tools: tuple[Tool, ...] = ()
    sample: int = 0


@dataclass(frozen=True)
class AgentReply:
    """What an agent answered, and how it got there."""

    text: str
    finish_reason: str
    usage: Usage
    #: Calls of the task's tools that the broker answered, in order.
    tool_calls: tuple[ToolCall, ...] = ()
    #: The conversation: what was put to the agent, each numbered step, the answer.
    messages: tuple[Message, ...] = ()

    @property
    def tools_called(self) -> tuple[str, ...]:
        return tuple(call.name for call in self.tool_calls)


@runtime_checkable
class AgentBackend(ChatBackend, Protocol):
    """A chat backend that can also be handed a whole task."""

    def require_possible(self, assignment: Assignment) -> None:
        """Raise TaskError if the agent could never do the task as it is put."""
        ...

    async def attempt(self, assignment: Assignment) -> AgentReply:
        """Let the agent work until it answers; raises a `CallError` for all but its answer."""
        ...

    async def version(self) -> str:
        """Ask the program for its version; raises ConfigError if it tells none."""
        ...
