"""Anthropic's Messages as one of the APIs before the simulated model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from skillopt.domain.messages import SAMPLE_HEADER
from skillopt.simulator import messages_replies
from skillopt.simulator.behaviour import Reply
from skillopt.simulator.messages_request import read_messages
from skillopt.simulator.request import ChatRequest
from skillopt.simulator.responses import ApiError

if TYPE_CHECKING:
    from skillopt.simulator.dialect import Call


class Messages:
    """Anthropic's Messages: a key has a header of its own, a token comes as a bearer's."""

    def key(self, call: Call) -> str:
        bearer = call.headers.get("Authorization", "").removeprefix("Bearer ")
        return call.headers.get("x-api-key") or bearer

    def read(self, raw: object, call: Call) -> ChatRequest:
        return read_messages(raw, call.headers.get(SAMPLE_HEADER))

    def whole(self, request: ChatRequest, reply: Reply, created: int) -> dict[str, Any]:
        return messages_replies.message(request, reply)

    def stream(self, request: ChatRequest, reply: Reply, created: int) -> Iterator[bytes]:
        for event in messages_replies.events(request, reply):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def error(self, error: ApiError) -> dict[str, Any]:
        return messages_replies.error_body(error)
