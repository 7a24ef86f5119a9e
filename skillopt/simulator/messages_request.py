"""A request of the Messages API, read into the chat that the simulated model understands.

The same model, words and tools give the same chat as a Chat Completions request that states them,
so both ways of asking get the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.simulator.reply_form import messages_fault
from skillopt.simulator.request import ChatRequest, RequestError, read_request


class _Part(BaseModel):
    """Anything the real API takes and this server does not know is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Block(_Part):
    """One block of content; of documents and thoughts only the type is read."""

    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = Field(default_factory=dict)
    tool_use_id: str = ""
    #: What a tool answered; documents have contents of other shapes.
    content: Any = None
    #: Where a picture is; documents have theirs too.
    source: Any = None


class _Message(_Part):
    """One turn; a system message between them may hold settings only, and no content."""

    role: Literal["user", "assistant", "system"]
    content: str | tuple[_Block, ...]

    @property
    def blocks(self) -> tuple[_Block, ...]:
        if isinstance(self.content, str):
            return (_Block(type="text", text=self.content),)
        return self.content

    def of_type(self, kind: str) -> list[_Block]:
        return [block for block in self.blocks if block.type == kind]

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.of_type("text"))


class _Tool(_Part):
    """A tool of the caller; one that the provider itself runs has no schema."""

    name: str = Field(min_length=1)
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class _ToolChoice(_Part):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None


class _Format(_Part):
    type: Literal["json_schema"]
    body: dict[str, Any] = Field(alias="schema")


class _OutputConfig(_Part):
    format: _Format | None = None


class _Body(_Part):
    model: str = Field(min_length=1)
    max_tokens: int = Field(ge=1)
    messages: tuple[_Message, ...] = Field(min_length=1)
    system: str | tuple[_Block, ...] = ""
    tools: tuple[_Tool, ...] | None = None
    tool_choice: _ToolChoice | None = None
    temperature: float | None = Field(default=None, ge=0, le=1)
    output_config: _OutputConfig | None = None
    stream: bool | None = None


def read_messages(raw: object, sample_header: str | None) -> ChatRequest:
    """Validate a request body; raises RequestError in the words of the API."""
    return read_request(_chat(_checked(raw)), sample_header)


def _checked(raw: object) -> _Body:
    if not isinstance(raw, dict):
        raise RequestError("the request body must be a JSON object", None)
    try:
        body = _Body.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        param = ".".join(str(part) for part in first["loc"])
        raise RequestError(f"{param}: {first['msg']}", param) from error
    if body.messages[0].role != "user":
        raise RequestError('messages: first message must use the "user" role', "messages.0")
    for index, message in enumerate(body.messages):
        _check_content(message, index)
    _check_tool_blocks(body)
    form = body.output_config.format if body.output_config is not None else None
    fault = messages_fault(form.body) if form is not None else None
    if fault is not None:
        raise RequestError(fault, "output_config.format.schema")
    return body


def _check_content(message: _Message, index: int) -> None:
    param = f"messages.{index}"
    if not message.content and message.role != "system":
        raise RequestError(f"{param}: all messages must have non-empty content", param)
    if any(not block.text.strip() for block in message.of_type("text")):
        raise RequestError(f"{param}: text content blocks must contain non-whitespace text", param)


def _check_tool_blocks(body: _Body) -> None:
    """Every use of a tool has its result in the next message, and every result its use."""
    waiting: set[str] = set()
    for index, message in enumerate(body.messages):
        if message.role == "system":
            continue
        param = f"messages.{index}"
        answered = {block.tool_use_id for block in message.of_type("tool_result")}
        if answered - waiting:
            raise RequestError(
                f"{param}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{_listed(answered - waiting)}. Each `tool_result` block must have a "
                "corresponding `tool_use` block in the previous message.",
                param,
            )
        if waiting - answered:
            raise RequestError(
                f"{param}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {_listed(waiting - answered)}. Each `tool_use` block must "
                "have a corresponding `tool_result` block in the next message.",
                param,
            )
        waiting = {block.id for block in message.of_type("tool_use")}
        if (waiting or answered) and not body.tools:
            raise RequestError(
                "Requests which include `tool_use` or `tool_result` blocks must define tools", param
            )


def _listed(ids: set[str]) -> str:
    return ", ".join(sorted(ids))


def _chat(body: _Body) -> dict[str, Any]:
    """Say the same as a Chat Completions request."""
    system = body.system if isinstance(body.system, str) else _joined(body.system)
    messages = [{"role": "system", "content": system}] if system.strip() else []
    talk = [one for one in body.messages if one.role != "system" or one.text.strip()]
    messages.extend(row for message in talk for row in _rows(message))
    choice = body.tool_choice
    # Tools that must not be called are as good as not offered.
    offered = () if choice is not None and choice.type == "none" else body.tools or ()
    tools = [_offered(tool) for tool in offered if tool.input_schema is not None]
    chat: dict[str, Any] = {
        "model": body.model,
        "messages": messages,
        "tools": tools or None,
        "max_tokens": body.max_tokens,
        "stream": body.stream,
    }
    if choice is not None and choice.type == "any":
        chat["tool_choice"] = "required"
    if choice is not None and choice.type == "tool":
        chat["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    if body.output_config is not None and body.output_config.format is not None:
        described = {"name": "reply", "schema": body.output_config.format.body}
        chat["response_format"] = {"type": "json_schema", "json_schema": described}
    return chat


def _rows(message: _Message) -> Iterator[dict[str, Any]]:
    """Give results of tools as messages of their own, before what is said beside them."""
    for block in message.of_type("tool_result"):
        yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": _result(block)}
    uses = message.of_type("tool_use")
    spoken = message.of_type("text")
    pictures = [_picture(block) for block in message.of_type("image")]
    if spoken or uses or pictures or not message.of_type("tool_result"):
        row: dict[str, Any] = {"role": message.role, "content": message.text}
        if pictures:
            texts = [{"type": "text", "text": message.text}] if spoken else []
            row["content"] = [*texts, *pictures]
        if uses:
            row["tool_calls"] = [_call(block) for block in uses]
        yield row


def _picture(block: _Block) -> dict[str, Any]:
    source = block.source if isinstance(block.source, dict) else {}
    url = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
    return {"type": "image_url", "image_url": {"url": url}}


def _call(block: _Block) -> dict[str, Any]:
    function = {"name": block.name, "arguments": json.dumps(block.input)}
    return {"id": block.id, "type": "function", "function": function}


def _result(block: _Block) -> str:
    if isinstance(block.content, list | tuple):
        texts = [part.get("text") for part in block.content if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return block.content if isinstance(block.content, str) else ""


def _offered(tool: _Tool) -> dict[str, Any]:
    described = {"name": tool.name, "description": tool.description}
    return {"type": "function", "function": {**described, "parameters": tool.input_schema}}


def _joined(blocks: Sequence[_Block]) -> str:
    return "\n".join(block.text for block in blocks)
