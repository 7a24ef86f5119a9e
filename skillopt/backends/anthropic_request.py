"""A conversation in the form of Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from skillopt.backends.pictures import encoded
from skillopt.backends.reply_format import messages_format, within
from skillopt.domain.backend import Backend
from skillopt.domain.item import Tool
from skillopt.domain.messages import Image, Message, ToolCall
from skillopt.domain.reply_schema import ReplySchema

#: The API takes no message without words.
NO_WORDS = "(empty)"

Row = dict[str, Any]


def request_body(
    backend: Backend,
    messages: Sequence[Message],
    tools: Sequence[Tool] = (),
    schema: ReplySchema | None = None,
) -> Row:
    """Give the body of a request: what the catalogue adds, then what is ours to say."""
    params = backend.params
    body: Row = {
        **params.extra_body,
        "model": backend.model,
        "max_tokens": params.max_output_tokens,
        "messages": _turns(messages),
    }
    system = "\n\n".join(m.content for m in messages if m.role == "system" and m.content.strip())
    if system:
        body["system"] = system
    if params.temperature is not None:
        body["temperature"] = params.temperature
    form = messages_format(backend.reply_form, schema)
    if form is not None:
        body["output_config"] = within(params.extra_body, "output_config", form)
    return {**body, **_tools(messages, tools)}


def _tools(messages: Sequence[Message], tools: Sequence[Tool]) -> Row:
    if tools:
        return {"tools": [_tool(tool) for tool in tools]}
    called = dict.fromkeys(call.name for message in messages for call in message.tool_calls)
    if not called:
        return {}
    # A talk with calls in it must declare their tools, also when no more may be called.
    return {
        "tools": [_tool(Tool(name=name)) for name in called],
        "tool_choice": {"type": "none"},
    }


def _tool(tool: Tool) -> Row:
    schema = {"type": "object", **(tool.parameters or {"properties": {}})}
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": schema}


def _turns(messages: Sequence[Message]) -> list[Row]:
    """Make turns that alternate: results of tools and what the user says then are one turn."""
    turns: list[Row] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(_blocks(message))
        else:
            turns.append({"role": role, "content": _blocks(message)})
    for turn in turns:
        if not turn["content"]:
            turn["content"] = [{"type": "text", "text": NO_WORDS}]
    return turns


def _blocks(message: Message) -> list[Row]:
    if message.role == "tool":
        said = {"content": message.content} if message.content else {}
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, **said}]
    blocks = [_picture(image) for image in message.images if message.role == "user"]
    if message.content.strip():
        blocks.append({"type": "text", "text": message.content})
    return blocks + [_use(call) for call in message.tool_calls]


def _picture(image: Image) -> Row:
    source = {"type": "base64", "media_type": image.media_type, "data": encoded(image)}
    return {"type": "image", "source": source}


def _use(call: ToolCall) -> Row:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}


def _input(arguments: str) -> Row:
    """Give arguments as the object that the API wants, whatever the model made of them."""
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        given = None
    return given if isinstance(given, dict) else {"arguments": arguments}
