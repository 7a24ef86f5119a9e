"""Replies in the shapes of the Messages API: one object, a stream of events, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from skillopt.simulator.behaviour import Reply, tokens
from skillopt.simulator.request import ChatRequest
from skillopt.simulator.responses import ApiError

_CHUNK_CHARACTERS = 24

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}

#: What the API calls the errors that a status stands for.
_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}

Event = dict[str, Any]


def error_body(error: ApiError) -> dict[str, Any]:
    """Give an error in the form of this API."""
    kind = _ERROR_TYPES.get(error.status)
    if kind is None:
        kind = "api_error" if error.status >= 500 else "invalid_request_error"
    message = error.message
    if error.code == "content_filter":
        message = "Output blocked by content filtering policy"
    elif error.status == 401:
        message = "invalid x-api-key"
    return {"type": "error", "error": {"type": kind, "message": message}}


def message(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    """Give the whole reply as one object."""
    return {
        **_envelope(request),
        "content": [_block(request, reply)] if reply.text or reply.tool else [],
        "stop_reason": _STOP_REASONS[reply.finish_reason],
        "usage": _usage(request, reply.completion_tokens),
    }


def events(request: ChatRequest, reply: Reply) -> Iterator[Event]:
    """Give the reply piece by piece, in the order in which the API sends its events."""
    begun = {**_envelope(request), "content": [], "usage": _usage(request, 1)}
    yield {"type": "message_start", "message": begun}
    yield {"type": "content_block_start", "index": 0, "content_block": _empty(request, reply)}
    yield {"type": "ping"}
    for delta in _deltas(reply):
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": _STOP_REASONS[reply.finish_reason], "stop_sequence": None},
        "usage": {"output_tokens": reply.completion_tokens},
    }
    yield {"type": "message_stop"}


def prompt_tokens(request: ChatRequest) -> int:
    return tokens(request.prompt_characters)


def _envelope(request: ChatRequest) -> dict[str, Any]:
    return {
        "id": f"msg_{request.key[:24]}",
        "type": "message",
        "role": "assistant",
        "model": request.body.model,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _block(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    if reply.tool is None:
        return {"type": "text", "text": reply.text}
    return {**_empty(request, reply), "input": json.loads(reply.tool_arguments)}


def _empty(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    if reply.tool is None:
        return {"type": "text", "text": ""}
    return {
        "type": "tool_use",
        "id": f"toolu_{request.key[:24]}",
        "name": reply.tool,
        "input": {},
    }


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    if reply.tool is None:
        yield from ({"type": "text_delta", "text": piece} for piece in _pieces(reply.text))
        return
    yield {"type": "input_json_delta", "partial_json": ""}
    for piece in _pieces(reply.tool_arguments):
        yield {"type": "input_json_delta", "partial_json": piece}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _CHUNK_CHARACTERS):
        yield text[start : start + _CHUNK_CHARACTERS]


def _usage(request: ChatRequest, output_tokens: int) -> dict[str, int]:
    return {
        "input_tokens": prompt_tokens(request),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output_tokens,
    }
