"""Every content hash, in one place: what makes two things "the same"."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Encode a JSON value so that equal values give equal bytes."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Hash a JSON value by its canonical form."""
    return sha256_hex(canonical_json(value))


def text_hash(text: str) -> str:
    """Hash a text (a skill, a template) by its exact UTF-8 bytes."""
    return sha256_hex(text.encode())


def short(full: str) -> str:
    """Shorten a hash to the 16 hex digits people see."""
    return full[:16]
