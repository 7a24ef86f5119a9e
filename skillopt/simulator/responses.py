"""Replies in the shapes of the Chat Completions API."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skillopt.simulator.behaviour import Reply, tokens
from skillopt.simulator.limits import Refusal
from skillopt.simulator.request import ChatRequest

_CHUNK_CHARACTERS = 24


@dataclass(eq=False)
class ApiError(Exception):
    """An answer that is an error, in the form the API gives it."""

    status: int
    message: str
    kind: str
    code: str | None = None
    param: str | None = None
    retry_after_s: float | None = None

    @property
    def body(self) -> dict[str, Any]:
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}

    @property
    def headers(self) -> dict[str, str]:
        """Say when to come again: whole seconds, and exactly in milliseconds."""
        if self.retry_after_s is None:
            return {}
        return {
            "Retry-After": str(max(1, math.ceil(self.retry_after_s))),
            "retry-after-ms": str(max(1, math.ceil(self.retry_after_s * 1000))),
        }


def bad_request(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    return ApiError(400, message, "invalid_request_error", code, param)


def wrong_key() -> ApiError:
    message = "Incorrect API key provided."
    return ApiError(401, message, "invalid_request_error", "invalid_api_key")


def unknown_model(model: str) -> ApiError:
    message = f"The model `{model}` does not exist or you do not have access to it."
    return ApiError(404, message, "invalid_request_error", "model_not_found", "model")


def filtered() -> ApiError:
    message = "The response was filtered due to the prompt triggering the content policy."
    return bad_request(message, "prompt", "content_filter")


def server_error() -> ApiError:
    message = "The server had an error while processing your request."
    return ApiError(500, message, "server_error")


def overloaded() -> ApiError:
    return ApiError(529, "Overloaded", "overloaded_error")


def over_limit(refusal: Refusal) -> ApiError:
    kind = "requests" if refusal.limit == "rpm" else "tokens"
    message = (
        f"Rate limit reached for {kind} ({refusal.limit}). "
        f"Please try again in {refusal.retry_after_s:.3f}s."
    )
    return ApiError(429, message, kind, "rate_limit_exceeded", retry_after_s=refusal.retry_after_s)


def prompt_tokens(request: ChatRequest) -> int:
    return tokens(request.prompt_characters)


def completion(request: ChatRequest, reply: Reply, created: int) -> dict[str, Any]:
    """Give the whole reply as one object."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.tool is not None:
        message |= {"content": None, "tool_calls": [_tool_call(request, reply)]}
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": reply.finish_reason,
    }
    return {
        **_envelope(request, "chat.completion", created),
        "choices": [choice],
        "usage": _usage(request, reply),
    }


def chunks(request: ChatRequest, reply: Reply, created: int) -> Iterator[dict[str, Any]]:
    """Give the reply piece by piece, as a stream sends it."""
    envelope = _envelope(request, "chat.completion.chunk", created)

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": finish_reason,
        }
        return {**envelope, "choices": [choice]}

    yield chunk({"role": "assistant", "content": None if reply.tool else ""})
    if reply.tool is not None:
        yield chunk({"tool_calls": [{"index": 0, **_tool_call(request, reply)}]})
    for start in range(0, len(reply.text), _CHUNK_CHARACTERS):
        yield chunk({"content": reply.text[start : start + _CHUNK_CHARACTERS]})
    yield chunk({}, reply.finish_reason)
    options = request.body.stream_options
    if options is not None and options.include_usage:
        yield {**envelope, "choices": [], "usage": _usage(request, reply)}


def _envelope(request: ChatRequest, kind: str, created: int) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.key[:24]}",
        "object": kind,
        "created": created,
        "model": request.body.model,
    }


def _tool_call(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    return {
        "id": f"call_{request.key[:24]}",
        "type": "function",
        "function": {"name": reply.tool, "arguments": reply.tool_arguments},
    }


def _usage(request: ChatRequest, reply: Reply) -> dict[str, int]:
    asked = prompt_tokens(request)
    return {
        "prompt_tokens": asked,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": asked + reply.completion_tokens,
    }
