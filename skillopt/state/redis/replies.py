"""Reading what Redis returned: every value is checked, none is guessed."""

from __future__ import annotations

import json
from typing import Any, Final

from skillopt.errors import StateCorrupt

#: Characters of a wrong value that an error shows: it may be of any size.
_SHOWN: Final = 60


def text(value: object, what: str) -> str:
    """Decode a stored text; `what` names it in the error."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise StateCorrupt(f"{what} is {_shown(value)}, not a text")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise StateCorrupt(f"{what} is not UTF-8: {value[:40]!r}") from error


def integer(value: object, what: str) -> int:
    """Decode a stored whole number; `what` names it in the error."""
    try:
        return int(text(value, what)) if not isinstance(value, int) else value
    except ValueError as error:
        raise StateCorrupt(f"{what} is {_shown(value)}, not a whole number") from error


def json_object(value: object, what: str) -> dict[str, Any]:
    """Decode a stored JSON object; `what` names it in the error."""
    try:
        decoded = json.loads(text(value, what))
    except (ValueError, RecursionError) as error:
        raise StateCorrupt(f"{what} is not JSON that can be read: {_shown(value)}") from error
    if not isinstance(decoded, dict):
        raise StateCorrupt(f"{what} is {_shown(value)}, not a JSON object")
    return decoded


def _shown(value: object) -> str:
    shown = repr(value[:_SHOWN] if isinstance(value, bytes | str) else value)
    return shown if len(shown) <= 2 * _SHOWN else f"{shown[: 2 * _SHOWN]}…"
