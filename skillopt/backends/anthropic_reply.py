"""What a Messages server answered, in our terms.

An answer without a list of content blocks is the server's failure; an empty list is an empty
answer, which models give.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BeforeValidator, NonNegativeInt, ValidationError

from skillopt.backends.answer_parts import Part, Text, decoded, named_calls, understood
from skillopt.backends.anthropic_errors import told_in
from skillopt.backends.base import ChatReply
from skillopt.backends.failures import failure
from skillopt.domain.messages import ToolCall
from skillopt.domain.usage import Usage

REFUSAL = "refusal"

#: Reasons to stop under the names that Chat Completions has for them; others stay as they are.
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class _Block(Part):
    """A block of content; thoughts and whatever else there may be are not answers."""

    type: Text = ""
    text: Text = ""
    id: Text = ""
    name: Text = ""
    input: Any = None


class _Reply(Part):
    content: tuple[_Block, ...]
    stop_reason: Text = ""
    usage: Any = None


#: Counts that a server may leave out or send as null.
_Count = Annotated[NonNegativeInt, BeforeValidator(lambda value: 0 if value is None else value)]


class _Usage(Part):
    input_tokens: NonNegativeInt
    output_tokens: NonNegativeInt
    cache_read_input_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0


def read_reply(body: bytes, model: str = "") -> ChatReply:
    """Read the body of a successful answer; raises a CallError if it holds no message."""
    raw = decoded(body)
    if isinstance(raw, dict) and raw.get("error") and "content" not in raw:
        raise failure(told_in(raw, 500, within_200=True), model)
    reply = understood(raw, _Reply)
    uses = [block for block in reply.content if block.type == "tool_use"]
    return ChatReply(
        text="".join(block.text for block in reply.content if block.type == "text"),
        finish_reason=_FINISH_REASONS.get(reply.stop_reason, reply.stop_reason or "stop"),
        usage=_usage(reply.usage),
        tool_calls=named_calls(
            [
                ToolCall(
                    id=block.id,
                    name=block.name,
                    arguments=json.dumps({} if block.input is None else block.input),
                )
                for block in uses
            ]
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
