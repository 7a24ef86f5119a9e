"""Secrets taken out of what a provider or a program said, before anything else looks at it.

A backend knows its own secret, and whoever was sent it can say it back: in an error, and in an
answer as well.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import quote

from skillopt.backends.base import ChatReply
from skillopt.domain.messages import ToolCall

HIDDEN = "[hidden]"
MESSAGE_LIMIT = 200
#: An error may quote a whole request, or be a page; what is beyond this is never shown.
_LOOKED_AT = 20_000
#: Keys by their looks, also with asterisks in the place of some of their characters. Only the
#: beginning of a word is tried as one: a long word without asterisks is gone through once.
_LOOKS_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pk|key|ghp|gho|github_pat|eyJ)[-_A-Za-z0-9.*]{8,}"
    r"|(?<![-_A-Za-z0-9.])[-_A-Za-z0-9.]*\*{3,}[-_A-Za-z0-9.*]*"
)
#: A shorter key is a placeholder for a server that asks for none (`ollama`, `not-needed`); it may
#: be a word, and an answer with that word in it must stay what it is.
SHORTEST_IN_ANSWERS = 16
#: Hiding a shorter word would hide parts of every error.
SHORTEST_IN_ERRORS = 6


def without(text: str, secrets: Iterable[str | None], shortest: int = SHORTEST_IN_ANSWERS) -> str:
    """Replace each secret that is long enough, also where it is encoded."""
    known = {secret for secret in secrets if secret and len(secret) >= shortest}
    # Longer ones first, since one may hold another.
    for secret in sorted(known, key=len, reverse=True):
        for spelling in _spellings(secret):
            text = text.replace(spelling, HIDDEN)
    return text


def as_message(text: str) -> str:
    """Give foreign words short enough for an error, and without what looks like a key."""
    words = " ".join(text[:_LOOKED_AT].split())
    return _LOOKS_LIKE_A_KEY.sub(HIDDEN, words)[:MESSAGE_LIMIT]


def calls_without(calls: Iterable[ToolCall], secrets: Iterable[str | None]) -> tuple[ToolCall, ...]:
    """Hide secrets in everything that a model said in calling its tools."""
    known = tuple(secrets)
    return tuple(
        ToolCall(
            id=without(call.id, known),
            name=without(call.name, known),
            arguments=without(call.arguments, known),
        )
        for call in calls
    )


def reply_without(reply: ChatReply, *secrets: str | None) -> ChatReply:
    """Hide secrets in everything that a server chose the words of."""
    return replace(
        reply,
        text=without(reply.text, secrets),
        finish_reason=without(reply.finish_reason, secrets),
        tool_calls=calls_without(reply.tool_calls, secrets),
    )


def _spellings(secret: str) -> list[str]:
    quoted = [secret, quote(secret, safe=""), json.dumps(secret)[1:-1]]
    raw = secret.encode()
    # What a short word is encoded as, other texts are too.
    if len(raw) >= SHORTEST_IN_ANSWERS:
        quoted += [*_within_base64(raw), raw.hex(), raw.hex().upper()]
    return list(dict.fromkeys(quoted))


def _within_base64(raw: bytes) -> Iterator[str]:
    """What every base64 of a text with the secret in it has in common, wherever it begins."""
    for before in range(3):
        text = b64encode(bytes(before) + raw).decode()
        # The characters at both ends hold bits of what stands beside the secret, too.
        own = text[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        yield own
        yield own.replace("+", "-").replace("/", "_")
