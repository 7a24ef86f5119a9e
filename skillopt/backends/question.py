"""One request to a model, in no provider's form yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.domain.backend import Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.domain.reply_schema import ReplySchema


@dataclass(frozen=True)
class Question:
    messages: Sequence[Message]
    tools: Sequence[Tool]
    sample: int
    params: Params
    schema: ReplySchema | None = None
