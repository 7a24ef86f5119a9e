"""Secrets taken out of whatever a program printed, before anything else looks at it."""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|ghp|gho|github_pat|eyJ)[-_A-Za-z0-9.]{12,}")
MESSAGE_LIMIT = 200
#: Hiding a shorter word would hide parts of every text.
_SHORTEST = 6


def without(text: str, secrets: Iterable[str]) -> str:
    """Replace each secret; longer ones first, since one may hold another."""
    known = [secret for secret in secrets if len(secret) >= _SHORTEST]
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def as_message(text: str) -> str:
    """A program's words, short enough for an error and without what looks like a key."""
    return _LOOKS_LIKE_A_KEY.sub(HIDDEN, " ".join(text.split()))[:MESSAGE_LIMIT]
