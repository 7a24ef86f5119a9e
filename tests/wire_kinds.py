"""Each kind that speaks HTTP, ready to be asked over the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from canned_provider import KEY, PROMPT, completion

from skillopt.backends.base import ChatReply
from skillopt.backends.registry import open_backend
from skillopt.domain.backend import AzureAccess, AzureEndpoint, Backend, BackendKind, Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.domain.reply_schema import ReplySchema

SCOPE = "https://cognitiveservices.azure.com/.default"


@dataclass(frozen=True)
class Wire:
    """A kind, the path it asks at, and how its key travels."""

    kind: BackendKind
    path: str
    api_version: str = ""
    key_header: str = "authorization"

    @property
    def speaks_responses(self) -> bool:
        return self.kind.endswith("_responses")

    @property
    def speaks_messages(self) -> bool:
        return self.kind == "anthropic_messages"

    def key_as_sent(self, key: str) -> str:
        return f"Bearer {key}" if self.key_header == "authorization" else key

    def backend(self, *roots: str, **changes: Any) -> Backend:
        fields: dict[str, Any] = {"name": "b", "kind": self.kind, "model": "d-1", "timeout_s": 10}
        if self.kind.startswith("azure"):
            fields["azure"] = AzureAccess(
                endpoints=tuple(AzureEndpoint(url=url, api_key_env="PLANTED_KEY") for url in roots),
                auth="api_key",
                api_version=self.api_version,
                scope=SCOPE,
            )
        else:
            fields |= {"base_url": f"{roots[0]}/v1", "api_key_env": "PLANTED_KEY"}
        if self.speaks_messages:
            fields["params"] = Params(max_output_tokens=1024)
        return Backend(**{**fields, **changes})

    def answer(self, text: str, finish: str = "stop", **fields: Any) -> dict[str, Any]:
        """Make the body in which this kind's API says something."""
        if self.speaks_messages:
            stop = {"length": "max_tokens", "content_filter": "refusal"}.get(finish, "end_turn")
            blocks = [{"type": "text", "text": text}] if text else []
            return {"type": "message", "content": blocks, "stop_reason": stop, **fields}
        if not self.speaks_responses:
            return completion({"role": "assistant", "content": text}, finish, **fields)
        item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
        cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(finish)
        ended = {"status": "incomplete", "incomplete_details": {"reason": cut}}
        return {**(ended if cut else {"status": "completed"}), "output": [item], **fields}

    def calling(self, *calls: tuple[str, str, str]) -> dict[str, Any]:
        """Make the body in which the model calls tools: the id, name and arguments of each."""
        if self.speaks_messages:
            uses = [
                {"type": "tool_use", "id": own, "name": name, "input": json.loads(arguments)}
                for own, name, arguments in calls
            ]
            return {"type": "message", "content": uses, "stop_reason": "tool_use"}
        if self.speaks_responses:
            items = [
                {"type": "function_call", "call_id": own, "name": name, "arguments": arguments}
                for own, name, arguments in calls
            ]
            return {"status": "completed", "output": items}
        listed = [
            {"id": own, "type": "function", "function": {"name": name, "arguments": arguments}}
            for own, name, arguments in calls
        ]
        message = {"role": "assistant", "content": None, "tool_calls": listed}
        return completion(message, "tool_calls")

    def error(self, status: int, message: str, code: str | None, kind: str = "") -> dict[str, Any]:
        """Make the body in which this kind's API refuses."""
        if self.speaks_messages:
            return {"type": "error", "error": {"type": kind or "api_error", "message": message}}
        named = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        return {"error": named}

    def usage(self, asked: int, said: int, cached: int) -> dict[str, Any]:
        asked_as, said_as = "prompt_tokens", "completion_tokens"
        if self.speaks_responses:
            asked_as, said_as = "input_tokens", "output_tokens"
        return {asked_as: asked, said_as: said, f"{asked_as}_details": {"cached_tokens": cached}}


CHAT = Wire("openai_chat", "/v1/chat/completions")
COMPATIBLE = Wire("openai_compatible", "/v1/chat/completions")
RESPONSES = Wire("openai_responses", "/v1/responses")
AZURE_CHAT = Wire(
    "azure_chat",
    "/openai/deployments/d-1/chat/completions?api-version=2024-10-21",
    "2024-10-21",
    "api-key",
)
AZURE_CHAT_V1 = Wire("azure_chat", "/openai/v1/chat/completions", "v1")
AZURE_RESPONSES = Wire("azure_responses", "/openai/v1/responses", "v1")
AZURE_RESPONSES_PREVIEW = Wire(
    "azure_responses", "/openai/v1/responses?api-version=preview", "preview"
)
AZURE_RESPONSES_DATED = Wire(
    "azure_responses",
    "/openai/responses?api-version=2025-04-01-preview",
    "2025-04-01-preview",
    "api-key",
)
AZURE = (
    AZURE_CHAT,
    AZURE_CHAT_V1,
    AZURE_RESPONSES,
    AZURE_RESPONSES_PREVIEW,
    AZURE_RESPONSES_DATED,
)
#: Those that the openai client serves.
WIRES = (CHAT, COMPATIBLE, RESPONSES, *AZURE)
MESSAGES = Wire("anthropic_messages", "/v1/messages", key_header="x-api-key")
HTTP_WIRES = (*WIRES, MESSAGES)


def named(wires: Iterable[Wire]) -> dict[str, Any]:
    """Arguments of parametrize: the wires, and a name for each."""
    listed = tuple(wires)
    names = [f"{wire.kind}{'-' if wire.api_version else ''}{wire.api_version}" for wire in listed]
    return {"argnames": "wire", "argvalues": listed, "ids": names}


def ask(
    backend: Backend,
    *,
    key: str = KEY,
    messages: tuple[Message, ...] = PROMPT,
    tools: tuple[Tool, ...] = (),
    sample: int = 0,
    params: Params | None = None,
    schema: ReplySchema | None = None,
) -> ChatReply:
    """Ask once, with a client of its own."""

    async def call() -> ChatReply:
        chat = open_backend(backend, {"PLANTED_KEY": key})
        try:
            return await chat.complete(
                messages, tools=tools, sample=sample, params=params, schema=schema
            )
        finally:
            await chat.close()

    return asyncio.run(call())
