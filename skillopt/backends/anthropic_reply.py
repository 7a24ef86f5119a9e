"""What a Messages server answered, in our terms.

An answer without a list of content blocks is the server's failure; an empty list is an empty
answer, which models give.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, NonNegativeInt, ValidationError

from skillopt.backends.base import ChatReply
from skillopt.backends.openai_reply import Text
from skillopt.domain.messages import ToolCall
from skillopt.domain.usage import Usage
from skillopt.errors import ServerFailed

REFUSAL = "refusal"

#: Reasons to stop under the names that Chat Completions has for them; others stay as they are.
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Block(_Part):
    """A block of content; thoughts and whatever else there may be are not answers."""

    type: Text = ""
    text: Text = ""
    id: Text = ""
    name: Text = ""
    input: Any = None


class _Reply(_Part):
    content: tuple[_Block, ...]
    stop_reason: Text = ""
    usage: Any = None


#: Counts that a server may leave out or send as null.
_Count = Annotated[NonNegativeInt, BeforeValidator(lambda value: 0 if value is None else value)]


class _Usage(_Part):
    input_tokens: NonNegativeInt
    output_tokens: NonNegativeInt
    cache_read_input_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0


def read_reply(body: bytes) -> ChatReply:
    """Read the body of a successful answer; raises ServerFailed if it holds no message."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ServerFailed("the provider's answer is not JSON") from error
    try:
        reply = _Reply.model_validate(raw)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) or "its top level"
        raise ServerFailed(f"the provider's answer has no usable message (see {where})") from None
    uses = [block for block in reply.content if block.type == "tool_use"]
    return ChatReply(
        text="".join(block.text for block in reply.content if block.type == "text"),
        finish_reason=_FINISH_REASONS.get(reply.stop_reason, reply.stop_reason or "stop"),
        usage=_usage(reply.usage),
        tool_calls=tuple(
            ToolCall(
                id=block.id or f"call_{number}",
                name=block.name,
                arguments=json.dumps({} if block.input is None else block.input),
            )
            for number, block in enumerate(uses)
        ),
        refused=reply.stop_reason == REFUSAL,
    )


def _usage(raw: Any) -> Usage:  # noqa: ANN401 - servers answer with anything
    """Count all input: the API reports what a cache took or gave beside the rest."""
    try:
        usage = _Usage.model_validate(raw)
    except ValidationError:
        return Usage(estimated=True)
    cached = usage.cache_read_input_tokens
    whole = usage.input_tokens + cached + usage.cache_creation_input_tokens
    return Usage(whole, usage.output_tokens, cached)
