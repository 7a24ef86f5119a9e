"""What a Chat Completions server answered, in our terms.

Servers that call themselves compatible leave fields out and send other types. Whatever can be
understood is taken; an answer without a usable message is the server's failure, not the model's.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, ValidationError

from skillopt.backends.base import ChatReply
from skillopt.domain.messages import ToolCall
from skillopt.domain.usage import Usage
from skillopt.errors import ServerFailed


def _as_text(value: Any) -> Any:  # noqa: ANN401 - servers answer with anything
    """Join parts to one text, and mend characters that were cut in half."""
    if value is None:
        return ""
    if isinstance(value, list):
        texts = [part.get("text") for part in value if isinstance(part, dict)]
        value = "".join(text for text in texts if isinstance(text, str))
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def as_arguments(value: Any) -> Any:  # noqa: ANN401
    """Arguments are a text to us, though some servers send the object itself."""
    return json.dumps(value) if isinstance(value, dict | list) else _as_text(value) or "{}"


Text = Annotated[str, BeforeValidator(_as_text)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Function(_Part):
    name: Text
    arguments: Annotated[str, BeforeValidator(as_arguments)] = "{}"


class _Call(_Part):
    id: Text = ""
    function: _Function


class _Message(_Part):
    content: Text = ""
    refusal: Any = None
    tool_calls: tuple[_Call, ...] | None = None


class _Choice(_Part):
    message: _Message
    finish_reason: Any = None


class _Completion(_Part):
    choices: tuple[_Choice, ...] = Field(min_length=1)
    usage: Any = None


class _Usage(_Part):
    prompt_tokens: NonNegativeInt
    completion_tokens: NonNegativeInt
    prompt_tokens_details: Any = None


class _Details(_Part):
    cached_tokens: NonNegativeInt = 0


def read_reply(body: bytes) -> ChatReply:
    """Read the body of a successful answer; raises ServerFailed if it holds no message."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ServerFailed("the provider's answer is not JSON") from error
    try:
        completion = _Completion.model_validate(raw)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) or "its top level"
        raise ServerFailed(f"the provider's answer has no usable message (see {where})") from None
    choice = completion.choices[0]
    message = choice.message
    calls = tuple(
        # A result must name its call, also where the server gave the call no name.
        ToolCall(
            id=call.id or f"call_{number}",
            name=call.function.name,
            arguments=call.function.arguments,
        )
        for number, call in enumerate(message.tool_calls or ())
    )
    reason = str(_as_text(choice.finish_reason) or "stop")
    return ChatReply(
        text=message.content,
        finish_reason=reason,
        usage=_usage(completion.usage),
        tool_calls=calls,
        refused=bool(message.refusal) or reason == "content_filter",
    )


def _usage(raw: Any) -> Usage:  # noqa: ANN401
    try:
        usage = _Usage.model_validate(raw)
    except ValidationError:
        return Usage(estimated=True)
    try:
        cached = _Details.model_validate(usage.prompt_tokens_details).cached_tokens
    except ValidationError:
        cached = 0
    return Usage(usage.prompt_tokens, usage.completion_tokens, cached)
