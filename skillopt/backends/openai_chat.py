"""Chat Completions, as OpenAI, compatible servers, Azure and the simulator speak it."""

from __future__ import annotations

from typing import Any

import openai

from skillopt.backends.base import ChatReply
from skillopt.backends.openai_reply import read_reply
from skillopt.backends.pictures import data_url
from skillopt.backends.question import Question
from skillopt.backends.reply_format import chat_format
from skillopt.domain.backend import Backend, BackendKind
from skillopt.domain.item import Tool
from skillopt.domain.messages import SAMPLE_HEADER, Message

#: OpenAI's reasoning models refuse the old name of the limit; most other servers know only it.
_NEW_LIMIT_NAME: tuple[BackendKind, ...] = ("azure_chat", "openai_chat")

#: Behind these may be any model, also one whose thoughts its server leaves in the text.
_THOUGHTS_IN_TEXT: tuple[BackendKind, ...] = ("azure_chat", "openai_compatible")


class ChatCompletions:
    """Asks one model with the parameters of its backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def ask(
        self,
        client: openai.AsyncOpenAI,
        question: Question,
    ) -> ChatReply:
        # The raw answer: the client's own types are not checked, and servers send anything.
        answer = await client.chat.completions.with_raw_response.create(**self._request(question))
        backend = self._backend
        return read_reply(
            answer.content, backend.model, thoughts_in_text=backend.kind in _THOUGHTS_IN_TEXT
        )

    def _request(self, question: Question) -> dict[str, Any]:
        params, sample = question.params, question.sample
        request: dict[str, Any] = {
            "model": self._backend.model,
            "messages": [_message(message) for message in question.messages],
            "extra_headers": {**params.extra_headers, SAMPLE_HEADER: str(sample)},
        }
        extra = dict(params.extra_body)
        form = chat_format(self._backend.reply_form, question.schema)
        if form is not None:
            request["response_format"] = form
            extra.pop("response_format", None)  # this call's own form comes first
        if extra:
            request["extra_body"] = extra
        if params.temperature is not None:
            request["temperature"] = params.temperature
        if params.max_output_tokens is not None:
            new_name = self._backend.kind in _NEW_LIMIT_NAME
            name = "max_completion_tokens" if new_name else "max_tokens"
            request[name] = params.max_output_tokens
        if params.reasoning_effort is not None:
            request["reasoning_effort"] = params.reasoning_effort
        if params.seed is not None:
            request["seed"] = params.seed + sample
        if question.tools:
            request["tools"] = [_tool(tool) for tool in question.tools]
        return request


def _message(message: Message) -> dict[str, Any]:
    row: dict[str, Any] = {"role": message.role, "content": _content(message)}
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


def _content(message: Message) -> str | list[dict[str, Any]]:
    if message.role != "user" or not message.images:
        return message.content
    said = [{"type": "text", "text": message.content}] if message.content else []
    shown = [
        {"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images
    ]
    return [*said, *shown]


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
