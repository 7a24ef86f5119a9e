"""What a Responses server answered, in our terms.

The API tells some failures with status 200; they become errors here, never answers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from pydantic import NonNegativeInt, ValidationError

from skillopt.backends.answer_parts import (
    Arguments,
    Part,
    Text,
    cached_tokens,
    decoded,
    named_calls,
    no_message,
    understood,
)
from skillopt.backends.base import ChatReply
from skillopt.backends.error_within import raise_error_within
from skillopt.backends.failures import failure, told_by
from skillopt.domain.messages import ToolCall
from skillopt.domain.usage import Usage
from skillopt.errors import CallError

#: Codes of a picture that cannot be used begin or end like this: another try brings the same.
_BAD_PICTURE = re.compile(r"invalid_image|image_|\w+_image_")


class _Content(Part):
    type: str = ""
    text: Text = ""
    refusal: Text = ""


class _Item(Part):
    type: str
    content: tuple[_Content, ...] | None = None
    call_id: Text = ""
    name: Text = ""
    arguments: Arguments = "{}"


class _Response(Part):
    status: str
    output: tuple[_Item, ...] = ()
    error: Any = None
    incomplete_details: Any = None
    usage: Any = None


class _Usage(Part):
    input_tokens: NonNegativeInt
    output_tokens: NonNegativeInt
    input_tokens_details: Any = None


def read_response(body: bytes, model: str = "") -> ChatReply:
    """Read the body of an answer with status 200; raises a CallError if it holds no reply."""
    raw = decoded(body)
    if not (isinstance(raw, dict) and "status" in raw):
        raise_error_within(raw, model)
    response = understood(raw, _Response)
    if response.status not in ("completed", "incomplete"):
        raise _failure(response, model)
    if response.status == "completed" and not response.output:
        raise no_message("output")
    return _reply(response)


def _reply(response: _Response) -> ChatReply:
    parts = [
        part for item in response.output if item.type == "message" for part in item.content or ()
    ]
    calls = named_calls(
        [
            ToolCall(id=item.call_id, name=item.name, arguments=item.arguments)
            for item in response.output
            if item.type == "function_call"
        ]
    )
    reason = "tool_calls" if calls else "stop"
    if response.status == "incomplete":
        told = _field(response.incomplete_details, "reason")
        reason = "content_filter" if told == "content_filter" else "length"
    return ChatReply(
        text="".join(part.text for part in parts if part.type == "output_text"),
        finish_reason=reason,
        usage=_usage(response.usage),
        tool_calls=calls,
        refused=reason == "content_filter" or any(part.refusal for part in parts),
    )


def _failure(response: _Response, model: str) -> CallError:
    told = told_by(response.error, 500, within_200=True)
    if not told.filtered and _BAD_PICTURE.match(told.code):
        told = replace(told, status=400)
    ended = f"the response {response.status}"
    return failure(replace(told, message=f"{ended}: {told.message}".rstrip(": ")), model)


def _field(value: object, name: str) -> str:
    return str(value.get(name) or "") if isinstance(value, dict) else ""


def _usage(raw: object) -> Usage:
    try:
        usage = _Usage.model_validate(raw)
    except ValidationError:
        return Usage(estimated=True)
    cached = cached_tokens(usage.input_tokens_details)
    return Usage(usage.input_tokens, usage.output_tokens, cached)
