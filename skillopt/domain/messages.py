"""Chat messages as they are stored and sent."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from skillopt.domain.fingerprint import canonical_json
from skillopt.domain.misread import in_short
from skillopt.errors import NotUnderstood

#: Carries the sample index to servers that have no `seed`, so that repeats differ.
SAMPLE_HEADER = "X-Skillopt-Sample"


class ToolCall(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    name: str
    arguments: str = "{}"


#: What a picture is supposed to take of a prompt, where nobody has counted yet.
IMAGE_TOKENS = 1_500


class Image(BaseModel):
    """A picture beside a text. Only its name is stored: the bytes are a blob of that hash."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    media_type: str
    sha256: str
    data: bytes = Field(default=b"", exclude=True, repr=False)


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    images: tuple[Image, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


_MESSAGES: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])


def encode_messages(messages: tuple[Message, ...]) -> bytes:
    rows: list[dict[str, Any]] = [message.model_dump(mode="json") for message in messages]
    return canonical_json(rows)


def decode_messages(encoded: bytes) -> tuple[Message, ...]:
    try:
        return _MESSAGES.validate_json(encoded)
    except ValidationError as error:
        raise NotUnderstood(f"stored messages are not understood: {in_short(error)}") from error
