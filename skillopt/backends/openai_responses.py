"""The Responses API, as OpenAI, Azure and the simulator speak it.

The whole conversation is sent with every call and nothing is stored at the provider: turns of one
attempt may be made by different workers, at different endpoints.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai

from skillopt.backends.base import ChatReply
from skillopt.backends.openai_responses_reply import read_response
from skillopt.backends.pictures import data_url
from skillopt.backends.question import Question
from skillopt.backends.reply_format import responses_format, within
from skillopt.domain.backend import Backend
from skillopt.domain.item import Tool
from skillopt.domain.messages import SAMPLE_HEADER, Message


class Responses:
    """Asks one model with the parameters of its backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def ask(
        self,
        client: openai.AsyncOpenAI,
        question: Question,
    ) -> ChatReply:
        answer = await client.responses.with_raw_response.create(**self._request(question))
        return read_response(answer.content, self._backend.model)

    def _request(self, question: Question) -> dict[str, Any]:
        params, sample = question.params, question.sample
        request: dict[str, Any] = {
            "model": self._backend.model,
            "input": [item for message in question.messages for item in _items(message)],
            "store": False,
            "extra_headers": {**params.extra_headers, SAMPLE_HEADER: str(sample)},
        }
        extra = dict(params.extra_body)
        form = responses_format(self._backend.reply_form, question.schema)
        if form is not None:
            extra["text"] = within(extra, "text", form)
        if extra:
            request["extra_body"] = extra
        if params.temperature is not None:
            request["temperature"] = params.temperature
        if params.max_output_tokens is not None:
            request["max_output_tokens"] = params.max_output_tokens
        if params.reasoning_effort is not None:
            request["reasoning"] = {"effort": params.reasoning_effort}
        if question.tools:
            request["tools"] = [_tool(tool) for tool in question.tools]
        return request


def _items(message: Message) -> Iterator[dict[str, Any]]:
    """Tell one message as items: what was said, then each call or the result of one."""
    if message.role == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message.tool_call_id,
            "output": message.content,
        }
        return
    if message.content or not message.tool_calls:
        yield {"role": message.role, "content": _content(message)}
    for call in message.tool_calls:
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }


def _content(message: Message) -> str | list[dict[str, Any]]:
    if message.role != "user" or not message.images:
        return message.content
    said = [{"type": "input_text", "text": message.content}] if message.content else []
    shown = [{"type": "input_image", "image_url": data_url(image)} for image in message.images]
    return [*said, *shown]


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object", "properties": {}},
        # Strict schemas ask for more than a task's own schema promises.
        "strict": False,
    }
