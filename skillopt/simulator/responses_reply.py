"""Replies in the shapes of the Responses API: one object, or the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skillopt.simulator.behaviour import Reply
from skillopt.simulator.request import ChatRequest
from skillopt.simulator.responses import prompt_tokens

_DELTA_CHARACTERS = 24


def response(request: ChatRequest, reply: Reply, created: int) -> dict[str, Any]:
    """Give the whole reply as one object."""
    cut = reply.finish_reason == "length"
    asked = prompt_tokens(request)
    return {
        **_envelope(request, created),
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [_item(request, reply)],
        "usage": {
            "input_tokens": asked,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": reply.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": asked + reply.completion_tokens,
        },
    }


def events(request: ChatRequest, reply: Reply, created: int) -> Iterator[dict[str, Any]]:
    """Give the reply piece by piece, as a stream sends it."""
    for number, event in enumerate(_events(request, reply, created)):
        yield {**event, "sequence_number": number}


def _events(request: ChatRequest, reply: Reply, created: int) -> Iterator[dict[str, Any]]:
    begun = {**_envelope(request, created), "status": "in_progress"}
    item = _item(request, reply)
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    yield {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {**item, "status": "in_progress", **_emptied(item)},
    }
    if reply.tool is None:
        yield from _text_events(item, reply.text)
    else:
        place = {"item_id": item["id"], "output_index": 0}
        arguments = reply.tool_arguments
        delta = {"type": "response.function_call_arguments.delta", **place, "delta": arguments}
        yield delta
        done = {"type": "response.function_call_arguments.done", **place}
        yield {**done, "name": reply.tool, "arguments": arguments}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    whole = response(request, reply, created)
    yield {"type": f"response.{whole['status']}", "response": whole}


def _text_events(item: dict[str, Any], text: str) -> Iterator[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    part = item["content"][0]
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for start in range(0, len(text), _DELTA_CHARACTERS):
        delta = text[start : start + _DELTA_CHARACTERS]
        yield {"type": "response.output_text.delta", **place, "delta": delta, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


def _envelope(request: ChatRequest, created: int) -> dict[str, Any]:
    return {
        "id": f"resp_{request.key[:24]}",
        "object": "response",
        "created_at": created,
        "model": request.body.model,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "output": [],
        "parallel_tool_calls": True,
        "temperature": request.body.temperature,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": None,
    }


def _item(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    if reply.tool is not None:
        return {
            "id": f"fc_{request.key[:24]}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{request.key[:24]}",
            "name": reply.tool,
            "arguments": reply.tool_arguments,
        }
    return {
        "id": f"msg_{request.key[:24]}",
        "type": "message",
        "status": "incomplete" if reply.finish_reason == "length" else "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
    }


def _emptied(item: dict[str, Any]) -> dict[str, Any]:
    return {"arguments": ""} if item["type"] == "function_call" else {"content": []}
