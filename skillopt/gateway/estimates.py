"""How many tokens a request may take, before anybody has counted them.

Two figures for two uses. What a request will *probably* take spares the limits per minute, and
stands in for usage that a provider does not report. What it can *at most* take is reserved in
budgets, so that a call never costs more than was set aside for it.

The second takes two bytes of UTF-8 for a token: the tokenizers of today's models make fewer of
prose, code and numbers in any script; only text like dense hexadecimal or base64 comes near or
beyond it. Whatever else a provider adds around messages and tools has an allowance of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skillopt.domain.item import Tool
from skillopt.domain.messages import IMAGE_TOKENS, Message
from skillopt.domain.reply_schema import ReplySchema

#: What an agent program takes besides the task: its own instructions, and several turns.
AGENT_INPUT_TOKENS: Final = 10_000
AGENT_OUTPUT_TOKENS: Final = 2_048
#: Output tokens assumed for a reservation when the backend sets no limit.
DEFAULT_OUTPUT_TOKENS: Final = 1_024
CHARACTERS_PER_TOKEN: Final = 4
BYTES_PER_TOKEN: Final = 2
#: Around each message: its role and its separators.
MESSAGE_TOKENS: Final = 8
#: Around tools: providers explain their use to the model in words of their own.
TOOLS_TOKENS: Final = 1_000
#: Of one picture at full size.
MOST_IMAGE_TOKENS: Final = 5_000


def probable_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def probable_prompt(messages: Sequence[Message]) -> int:
    images = sum(len(message.images) for message in messages)
    return sum(probable_tokens(message.content) for message in messages) + images * IMAGE_TOKENS


def largest_prompt(
    messages: Sequence[Message], tools: Sequence[Tool] = (), schema: ReplySchema | None = None
) -> int:
    """Give what a prompt takes at most, with all that is sent beside the messages."""
    tokens = sum(_largest_message(message) for message in messages)
    if tools:
        tokens += TOOLS_TOKENS + sum(_largest(tool.model_dump_json().encode()) for tool in tools)
    if schema is not None:
        tokens += TOOLS_TOKENS + _largest(schema.encoded)
    return tokens


def _largest_message(message: Message) -> int:
    calls = b"".join(call.model_dump_json().encode() for call in message.tool_calls)
    text = _largest(message.content.encode()) + _largest(calls)
    return MESSAGE_TOKENS + text + len(message.images) * MOST_IMAGE_TOKENS


def _largest(text: bytes) -> int:
    return -(-len(text) // BYTES_PER_TOKEN)
