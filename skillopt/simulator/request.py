"""A chat request: what the API accepts, and what the model sees of it."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from skillopt.domain.fingerprint import digest
from skillopt.domain.messages import SAMPLE_HEADER
from skillopt.simulator.reply_form import ResponseFormat

_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,")
#: A picture takes as much of a prompt as a text of so many characters.
_PICTURE_CHARACTERS = 340


class _Part(BaseModel):
    """Anything the real API takes and this server does not know is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class TextPart(_Part):
    type: Literal["text"]
    text: str


class ImageUrl(_Part):
    url: str = Field(min_length=1)

    @field_validator("url")
    @classmethod
    def _readable(cls, url: str) -> str:
        """A picture that comes with the request must be one; others are not fetched."""
        if not url.startswith("data:"):
            return url
        found = _PICTURE.match(url)
        if found is None:
            raise ValueError("is not a picture in base64; send png, jpeg, gif or webp")
        try:
            base64.b64decode(url[found.end() :], validate=True)
        except ValueError as error:
            raise ValueError("is not base64") from error
        return url


class ImagePart(_Part):
    type: Literal["image_url"]
    image_url: ImageUrl


class FunctionCall(_Part):
    name: str
    arguments: str = "{}"


class ToolCall(_Part):
    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class ChatMessage(_Part):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | tuple[TextPart | ImagePart, ...] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def pictures(self) -> int:
        parts = self.content if isinstance(self.content, tuple) else ()
        return sum(isinstance(part, ImagePart) for part in parts)


class FunctionTool(_Part):
    name: str = Field(min_length=1)
    description: str | None = None
    parameters: dict[str, Any] | None = None


class OfferedTool(_Part):
    type: Literal["function"]
    function: FunctionTool


class StreamOptions(_Part):
    include_usage: bool = False


class ChatBody(_Part):
    """The body of a request, as far as this server reads it."""

    model: str = Field(min_length=1)
    messages: tuple[ChatMessage, ...] = Field(min_length=1)
    tools: tuple[OfferedTool, ...] | None = None
    tool_choice: str | dict[str, Any] | None = None
    seed: int | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=None, ge=1, le=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    response_format: ResponseFormat | None = None


class RequestError(Exception):
    """The request is not one the API accepts."""

    def __init__(self, message: str, param: str | None) -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True)
class ChatRequest:
    """A valid request, and which sample of its answer is asked for."""

    body: ChatBody
    sample: int

    @cached_property
    def content(self) -> str:
        """Hash of what is asked: model, messages with their pictures, and tools."""
        asked = self.body.model_dump(mode="json", include={"model", "messages", "tools"})
        return digest(asked)

    @cached_property
    def key(self) -> str:
        """Hash of what is asked and which sample of it: equal for a request sent again."""
        return digest([self.content, self.sample])

    @property
    def prompt_characters(self) -> int:
        tools = self.body.tools or ()
        said = sum(len(message.text) for message in self.body.messages)
        offered = sum(len(tool.model_dump_json()) for tool in tools)
        return said + offered + self.pictures * _PICTURE_CHARACTERS

    @property
    def pictures(self) -> int:
        return sum(message.pictures for message in self.body.messages)

    def texts(self, *roles: str) -> list[str]:
        return [message.text for message in self.body.messages if message.role in roles]

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(tool.function.name for tool in self.body.tools or ())


def read_request(raw: object, sample_header: str | None) -> ChatRequest:
    """Validate a request body; raises RequestError with the parameter that is wrong."""
    if not isinstance(raw, dict):
        raise RequestError("the request body must be a JSON object", None)
    for name in ("model", "messages"):
        if name not in raw:
            raise RequestError(f"you must provide a {name} parameter", name)
    try:
        body = ChatBody.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        param = ".".join(str(part) for part in first["loc"])
        raise RequestError(f"invalid value for {param!r}: {first['msg']}", param) from error
    _check_tool_messages(body.messages)
    fault = body.response_format.fault() if body.response_format is not None else None
    if fault is not None:
        raise RequestError(fault, "response_format")
    return ChatRequest(body, _sample(body, sample_header))


def _sample(body: ChatBody, header: str | None) -> int:
    if body.seed is not None:
        return body.seed
    if header is None:
        return 0
    try:
        return int(header)
    except ValueError as error:
        message = f"header {SAMPLE_HEADER} is {header!r}; send a whole number"
        raise RequestError(message, None) from error


def _check_tool_messages(messages: tuple[ChatMessage, ...]) -> None:
    """Every tool call has its answer before the talk goes on, and every answer its call."""
    open_calls: set[str] = set()
    for index, message in enumerate(messages):
        param = f"messages.{index}"
        if message.role == "tool":
            if message.tool_call_id not in open_calls:
                raise RequestError(
                    "messages with role 'tool' must be a response to a preceding message with "
                    "'tool_calls'",
                    param,
                )
            open_calls.discard(message.tool_call_id)
        elif open_calls:
            raise RequestError(
                "an assistant message with 'tool_calls' must be followed by tool messages "
                f"responding to each call; missing: {', '.join(sorted(open_calls))}",
                param,
            )
        elif message.content is None and not message.tool_calls:
            raise RequestError("invalid value for 'content': expected a string, got null", param)
        open_calls |= {call.id for call in message.tool_calls}
