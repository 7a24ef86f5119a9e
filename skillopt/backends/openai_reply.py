"""What a Chat Completions server answered, in our terms.

Servers that call themselves compatible leave fields out and send other types. Whatever can be
understood is taken; an answer without a usable message is the server's failure, not the model's.
Thoughts are never an answer: a model that only thought has answered nothing.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, NonNegativeInt, ValidationError

from skillopt.backends.answer_parts import (
    Arguments,
    Part,
    Text,
    as_text,
    cached_tokens,
    decoded,
    named_calls,
    understood,
)
from skillopt.backends.base import ChatReply
from skillopt.backends.error_within import raise_error_within
from skillopt.backends.thoughts import without_thoughts
from skillopt.domain.messages import ToolCall
from skillopt.domain.usage import Usage
from skillopt.errors import ServerFailed

#: Reasons to stop under the names that OpenAI has for them; others stay as they are.
_FINISH_REASONS = {
    "complete": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "prohibited_content": "content_filter",
    "recitation": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
}
#: Ends that the server brought about: what was said until then is no answer.
_BROKEN_OFF = frozenset({"abort", "cancelled", "error", "insufficient_system_resource"})


def _as_id(value: Any) -> Any:  # noqa: ANN401
    return str(value) if isinstance(value, int) else as_text(value)


class _Function(Part):
    name: Text
    arguments: Arguments = "{}"


class _Call(Part):
    id: Annotated[str, BeforeValidator(_as_id)] = ""
    function: _Function


class _Message(Part):
    content: Text = ""
    refusal: Any = None
    tool_calls: tuple[_Call, ...] | None = None
    #: How one call was told before there could be several.
    function_call: _Function | None = None


class _Choice(Part):
    message: _Message
    finish_reason: Any = None


class _Completion(Part):
    choices: tuple[_Choice, ...] = Field(min_length=1)
    usage: Any = None


class _Usage(Part):
    prompt_tokens: NonNegativeInt
    completion_tokens: NonNegativeInt
    prompt_tokens_details: Any = None


def read_reply(body: bytes, model: str = "", *, thoughts_in_text: bool = False) -> ChatReply:
    """Read the body of a successful answer; raises a CallError if it holds none.

    With `thoughts_in_text`, thoughts between tags before the answer are taken off it.
    """
    raw = decoded(body)
    raise_error_within(raw, model)
    completion = understood(raw, _Completion)
    choice = completion.choices[0]
    message = choice.message
    reason = _reason(choice.finish_reason)
    return ChatReply(
        text=without_thoughts(message.content) if thoughts_in_text else message.content,
        finish_reason=reason,
        usage=_usage(completion.usage),
        tool_calls=_calls(message),
        refused=bool(message.refusal) or reason == "content_filter",
    )


def _reason(told: Any) -> str:  # noqa: ANN401
    said = as_text(told)
    reason = said.lower() if isinstance(said, str) else str(said)
    if reason in _BROKEN_OFF:
        raise ServerFailed(
            f"the provider broke the answer off (finish_reason {reason!r})", may_be_billed=True
        )
    return _FINISH_REASONS.get(reason, reason or "stop")


def _calls(message: _Message) -> tuple[ToolCall, ...]:
    calls = [
        ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments)
        for call in message.tool_calls or ()
    ]
    if not calls and message.function_call is not None:
        one = message.function_call
        calls = [ToolCall(id="", name=one.name, arguments=one.arguments)]
    return named_calls(calls)


def _usage(raw: Any) -> Usage:  # noqa: ANN401
    """Read what was counted; thoughts are among the completion tokens that a provider counts."""
    try:
        usage = _Usage.model_validate(raw)
    except ValidationError:
        return Usage(estimated=True)
    cached = cached_tokens(usage.prompt_tokens_details)
    return Usage(usage.prompt_tokens, usage.completion_tokens, cached)
