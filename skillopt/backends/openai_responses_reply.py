"""What a Responses server answered, in our terms.

The API tells some failures with status 200; they become errors here, never answers.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, NonNegativeInt, ValidationError

from skillopt.backends.base import ChatReply
from skillopt.backends.openai_errors import FILTER_CODES, clean
from skillopt.backends.openai_reply import Text, as_arguments
from skillopt.domain.messages import ToolCall
from skillopt.domain.usage import Usage
from skillopt.errors import CallError, ContentFiltered, RateLimited, ServerFailed

_FLAGGED = FILTER_CODES | {"invalid_prompt"}


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Content(_Part):
    type: str = ""
    text: Text = ""
    refusal: Text = ""


class _Item(_Part):
    type: str
    content: tuple[_Content, ...] | None = None
    call_id: Text = ""
    name: Text = ""
    arguments: Annotated[str, BeforeValidator(as_arguments)] = "{}"


class _Response(_Part):
    status: str
    output: tuple[_Item, ...] = ()
    error: Any = None
    incomplete_details: Any = None
    usage: Any = None


class _Details(_Part):
    cached_tokens: NonNegativeInt = 0


class _Usage(_Part):
    input_tokens: NonNegativeInt
    output_tokens: NonNegativeInt
    input_tokens_details: Any = None


def read_response(body: bytes) -> ChatReply:
    """Read the body of an answer with status 200; raises a CallError if it holds no reply."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ServerFailed("the provider's answer is not JSON") from error
    try:
        response = _Response.model_validate(raw)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) or "its top level"
        raise ServerFailed(f"the provider's answer is no usable response (see {where})") from None
    if response.status not in ("completed", "incomplete"):
        raise _failure(response)
    if response.status == "completed" and not response.output:
        raise ServerFailed("the provider's answer has no usable message (see output)")
    return _reply(response)


def _reply(response: _Response) -> ChatReply:
    parts = [
        part for item in response.output if item.type == "message" for part in item.content or ()
    ]
    calls = tuple(
        # A result must name its call, also where the server gave the call no name.
        ToolCall(id=item.call_id or f"call_{number}", name=item.name, arguments=item.arguments)
        for number, item in enumerate(response.output)
        if item.type == "function_call"
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


def _failure(response: _Response) -> CallError:
    code = _field(response.error, "code")
    said = clean(f"the response {response.status} {code}: {_field(response.error, 'message')}")
    if code in _FLAGGED:
        return ContentFiltered(said)
    return RateLimited(said) if code == "rate_limit_exceeded" else ServerFailed(said)


def _field(value: object, name: str) -> str:
    return str(value.get(name) or "") if isinstance(value, dict) else ""


def _usage(raw: object) -> Usage:
    try:
        usage = _Usage.model_validate(raw)
    except ValidationError:
        return Usage(estimated=True)
    try:
        cached = _Details.model_validate(usage.input_tokens_details).cached_tokens
    except ValidationError:
        cached = 0
    return Usage(usage.input_tokens, usage.output_tokens, cached)
