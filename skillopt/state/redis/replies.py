"""Reading what Redis returned: every value is checked, none is guessed."""

from __future__ import annotations

import json
from typing import Any

from skillopt.errors import StateCorrupt


def text(value: object, what: str) -> str:
    """Decode a stored text; `what` names it in the error."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise StateCorrupt(f"{what} is {value!r}, not a text")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise StateCorrupt(f"{what} is not UTF-8: {value[:40]!r}") from error


def integer(value: object, what: str) -> int:
    """Decode a stored whole number; `what` names it in the error."""
    try:
        return int(text(value, what)) if not isinstance(value, int) else value
    except ValueError as error:
        raise StateCorrupt(f"{what} is {value!r}, not a whole number") from error


def json_object(value: object, what: str) -> dict[str, Any]:
    """Decode a stored JSON object; `what` names it in the error."""
    try:
        decoded = json.loads(text(value, what))
    except ValueError as error:
        raise StateCorrupt(f"{what} is not JSON: {value!r}") from error
    if not isinstance(decoded, dict):
        raise StateCorrupt(f"{what} is {decoded!r}, not a JSON object")
    return decoded
