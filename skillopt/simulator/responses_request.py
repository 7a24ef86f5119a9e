"""A request of the Responses API, told as the chat request that means the same."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.simulator.request import RequestError

_ROLES = ("system", "developer", "user", "assistant")
_COPIED = ("model", "temperature", "stream", "tool_choice")


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _ContentPart(_Part):
    type: str = "input_text"
    text: str = ""
    image_url: str | None = None


class _Item(_Part):
    """One item of the input; of the many types only those that a model is shown are read."""

    type: str = "message"
    role: str = ""
    content: str | tuple[_ContentPart, ...] = ""
    call_id: str = ""
    name: str = ""
    arguments: str = "{}"
    output: str | tuple[_ContentPart, ...] = ""


class _Tool(_Part):
    type: str
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Format(_Part):
    type: str
    name: str = ""
    body: dict[str, Any] = Field(alias="schema", default_factory=dict)
    strict: bool | None = None


class _TextOptions(_Part):
    format: _Format | None = None


class _Body(_Part):
    input: str | tuple[_Item, ...] = ()
    instructions: str | None = None
    tools: tuple[_Tool, ...] | None = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    previous_response_id: str | None = None
    text: _TextOptions | None = None


def as_chat(raw: object) -> object:
    """Translate a body; what is missing is left to the chat API to refuse."""
    if not isinstance(raw, dict):
        return raw
    if "input" not in raw:
        raise RequestError("you must provide an input parameter", "input")
    try:
        body = _Body.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        param = ".".join(str(part) for part in first["loc"])
        raise RequestError(f"invalid value for {param!r}: {first['msg']}", param) from error
    if body.previous_response_id is not None:
        raise RequestError(
            "this server keeps no responses; send the whole conversation as input",
            "previous_response_id",
        )
    chat: dict[str, Any] = {name: raw[name] for name in _COPIED if raw.get(name) is not None}
    chat["messages"] = _messages(body)
    functions = [tool for tool in body.tools or () if tool.type == "function"]
    if functions:
        chat["tools"] = [_tool(tool) for tool in functions]
    if body.max_output_tokens is not None:
        chat["max_completion_tokens"] = body.max_output_tokens
    if body.text is not None and body.text.format is not None:
        chat["response_format"] = _response_format(body.text.format)
    return chat


def _response_format(asked: _Format) -> dict[str, Any]:
    if asked.type != "json_schema":
        return {"type": asked.type}
    described = {"name": asked.name, "schema": asked.body, "strict": asked.strict}
    return {"type": "json_schema", "json_schema": described}


def _messages(body: _Body) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if body.instructions:
        messages.append({"role": "system", "content": body.instructions})
    if isinstance(body.input, str):
        return [*messages, {"role": "user", "content": body.input}]
    for index, item in enumerate(body.input):
        if item.type == "function_call":
            _called(messages, item)
        elif item.type == "function_call_output":
            output = {"role": "tool", "tool_call_id": item.call_id, "content": _text(item.output)}
            messages.append(output)
        elif item.type == "message":
            if item.role not in _ROLES:
                raise RequestError(f"invalid role {item.role!r}", f"input.{index}.role")
            messages.append({"role": item.role, "content": _content(item.content)})
    return messages


def _called(messages: list[dict[str, Any]], item: _Item) -> None:
    """A call belongs to the turn in which the model spoke, or made another call."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": ""})
    messages[-1].setdefault("tool_calls", []).append(
        {
            "id": item.call_id,
            "type": "function",
            "function": {"name": item.name, "arguments": item.arguments},
        }
    )


def _content(content: str | tuple[_ContentPart, ...]) -> str | list[dict[str, Any]]:
    pictures = [] if isinstance(content, str) else [p for p in content if p.type == "input_image"]
    if not pictures or isinstance(content, str):
        return _text(content)
    texts = [{"type": "text", "text": part.text} for part in content if part not in pictures]
    return [*texts, *({"type": "image_url", "image_url": {"url": p.image_url}} for p in pictures)]


def _text(content: str | tuple[_ContentPart, ...]) -> str:
    return content if isinstance(content, str) else "\n".join(part.text for part in content)


def _tool(tool: _Tool) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}
