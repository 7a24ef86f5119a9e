"""What every backend can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from skillopt.domain.backend import Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message, ToolCall
from skillopt.domain.reply_schema import ReplySchema
from skillopt.domain.usage import Usage


@dataclass(frozen=True)
class ChatReply:
    """What a model answered. A refusal is an answer; an outage is a `CallError`."""

    text: str
    finish_reason: str
    usage: Usage
    tool_calls: tuple[ToolCall, ...] = ()
    refused: bool = False


class ChatBackend(Protocol):
    """One model behind one endpoint.

    A call raises a `CallError` of the right class for anything that is not the model's own
    answer. It never retries: there is one retry policy, and it is the gateway's.
    """

    #: What a Retry-After holds: calls with the same credential wait together.
    credential: str

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        sample: int = 0,
        params: Params | None = None,
        schema: ReplySchema | None = None,
    ) -> ChatReply:
        """Ask once. `params` takes the place of the backend's own; `schema` is requested if the
        server can enforce one, else it is left to the prompt.
        """
        ...

    async def close(self) -> None: ...
