"""The ways to ask the simulator: one model behind several APIs.

Each API reads its own requests into the same `ChatRequest` and writes the same `Reply` in its own
form, so that what the model says does not depend on the API.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from skillopt.domain.messages import SAMPLE_HEADER
from skillopt.simulator import responses, responses_reply
from skillopt.simulator.behaviour import Reply
from skillopt.simulator.messages_api import Messages
from skillopt.simulator.request import ChatRequest, read_request
from skillopt.simulator.responses import ApiError
from skillopt.simulator.responses_request import as_chat


@dataclass(frozen=True)
class Call:
    """What of an HTTP request a dialect may look at."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    #: The variable parts of the path, as `{deployment}`.
    path: Mapping[str, str]


class Dialect(Protocol):
    """One API: its credential, requests, replies and errors."""

    def key(self, call: Call) -> str:
        """Give the key that a call carries, "" if none."""
        ...

    def read(self, raw: object, call: Call) -> ChatRequest:
        """Read a request; raises RequestError, or ApiError for what has another status."""
        ...

    def whole(self, request: ChatRequest, reply: Reply, created: int) -> dict[str, Any]: ...

    def stream(self, request: ChatRequest, reply: Reply, created: int) -> Iterator[bytes]: ...

    def error(self, error: ApiError) -> dict[str, Any]: ...


class ChatCompletions:
    """OpenAI's Chat Completions."""

    def key(self, call: Call) -> str:
        return call.headers.get("Authorization", "").removeprefix("Bearer ")

    def read(self, raw: object, call: Call) -> ChatRequest:
        return read_request(raw, call.headers.get(SAMPLE_HEADER))

    def whole(self, request: ChatRequest, reply: Reply, created: int) -> dict[str, Any]:
        return responses.completion(request, reply, created)

    def stream(self, request: ChatRequest, reply: Reply, created: int) -> Iterator[bytes]:
        for chunk in responses.chunks(request, reply, created):
            yield f"data: {json.dumps(chunk)}\n\n".encode()
        yield b"data: [DONE]\n\n"

    def error(self, error: ApiError) -> dict[str, Any]:
        return error.body


class Responses(ChatCompletions):
    """OpenAI's Responses."""

    def read(self, raw: object, call: Call) -> ChatRequest:
        return super().read(as_chat(raw), call)

    def whole(self, request: ChatRequest, reply: Reply, created: int) -> dict[str, Any]:
        return responses_reply.response(request, reply, created)

    def stream(self, request: ChatRequest, reply: Reply, created: int) -> Iterator[bytes]:
        for event in responses_reply.events(request, reply, created):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


@dataclass(frozen=True)
class Azure:
    """An API of OpenAI as Azure serves it: other key header, other words for some errors."""

    api: Dialect
    #: The paths from before `/openai/v1` ask for the version of the API in the query.
    versioned: bool

    def key(self, call: Call) -> str:
        return call.headers.get("api-key") or self.api.key(call)

    def read(self, raw: object, call: Call) -> ChatRequest:
        if self.versioned and not call.query.get("api-version"):
            raise ApiError(404, "Resource not found", "invalid_request_error", "404")
        deployment = call.path.get("deployment")
        if deployment is not None and isinstance(raw, dict):
            raw = {**raw, "model": deployment}
        return self.api.read(raw, call)

    def whole(self, request: ChatRequest, reply: Reply, created: int) -> dict[str, Any]:
        return self.api.whole(request, reply, created)

    def stream(self, request: ChatRequest, reply: Reply, created: int) -> Iterator[bytes]:
        return self.api.stream(request, reply, created)

    def error(self, error: ApiError) -> dict[str, Any]:
        if error.code == "model_not_found":
            message = "The API deployment for this resource does not exist."
            error = replace(error, message=message, code="DeploymentNotFound")
        body = self.api.error(error)
        if error.code == "content_filter":
            body["error"]["innererror"] = {
                "code": "ResponsibleAIPolicyViolation",
                "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
            }
        return body


#: Every path that answers calls.
DIALECTS: tuple[tuple[str, Dialect], ...] = (
    ("/v1/chat/completions", ChatCompletions()),
    ("/chat/completions", ChatCompletions()),
    ("/v1/responses", Responses()),
    ("/responses", Responses()),
    (
        "/openai/deployments/{deployment}/chat/completions",
        Azure(ChatCompletions(), versioned=True),
    ),
    ("/openai/responses", Azure(Responses(), versioned=True)),
    ("/openai/v1/chat/completions", Azure(ChatCompletions(), versioned=False)),
    ("/openai/v1/responses", Azure(Responses(), versioned=False)),
    ("/v1/messages", Messages()),
)
