"""Chat Completions through the openai client: OpenAI itself, compatible servers, the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import openai

from skillopt.backends.base import ChatReply
from skillopt.backends.openai_errors import translate
from skillopt.backends.openai_reply import read_reply
from skillopt.domain.backend import Backend
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message

#: Carries the sample index to servers that have no `seed`, so that repeats differ.
SAMPLE_HEADER = "X-Skillopt-Sample"

#: Said here, or the client would let a variable of the worker's environment redirect the calls of
#: a backend whose fingerprint means this address.
OPENAI_URL = "https://api.openai.com/v1"

#: Servers that ask for no key still want the header to be there.
NO_KEY = "none"


class OpenAIChat:
    """One model of one Chat Completions server."""

    def __init__(self, backend: Backend, api_key: str | None) -> None:
        self._backend = backend
        self._api_key = api_key
        self._client = openai.AsyncOpenAI(
            base_url=backend.base_url or OPENAI_URL,
            api_key=api_key or NO_KEY,
            max_retries=0,  # there is one retry policy, and it is the gateway's
            timeout=backend.timeout_s,
            http_client=openai.DefaultAioHttpClient(),
        )
        # The key's hash, so that the name of a hold says nothing about the key.
        self.credential = text_hash(f"{self._client.base_url}|{api_key}")[:16]

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), sample: int = 0
    ) -> ChatReply:
        try:
            # The raw answer: the client's own types are not checked, and servers send anything.
            answer = await self._client.chat.completions.with_raw_response.create(
                **self._request(messages, tools, sample)
            )
        except openai.OpenAIError as error:
            raise translate(error, self._backend.model, self._api_key) from None
        return read_reply(answer.content)

    async def close(self) -> None:
        await self._client.close()

    def _request(
        self, messages: Sequence[Message], tools: Sequence[Tool], sample: int
    ) -> dict[str, Any]:
        params = self._backend.params
        request: dict[str, Any] = {
            "model": self._backend.model,
            "messages": [_message(message) for message in messages],
            "extra_headers": {**params.extra_headers, SAMPLE_HEADER: str(sample)},
        }
        if params.extra_body:
            request["extra_body"] = params.extra_body
        if params.temperature is not None:
            request["temperature"] = params.temperature
        if params.max_output_tokens is not None:
            # OpenAI's reasoning models refuse the old name; most other servers know only it.
            new_name = self._backend.kind == "openai_chat"
            name = "max_completion_tokens" if new_name else "max_tokens"
            request[name] = params.max_output_tokens
        if params.reasoning_effort is not None:
            request["reasoning_effort"] = params.reasoning_effort
        if params.seed is not None:
            request["seed"] = params.seed + sample
        if tools:
            request["tools"] = [_tool(tool) for tool in tools]
        return request


def _message(message: Message) -> dict[str, Any]:
    row: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        row["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        row["tool_call_id"] = message.tool_call_id
    return row


def _tool(tool: Tool) -> dict[str, Any]:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters,
        },
    }
