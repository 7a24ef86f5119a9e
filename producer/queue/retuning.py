"""What a person writes to retune a run: `budget.max_usd=5`, `priority=high`, `window=none`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError

from producer.queue.models import Retuning
from skillopt.config.suggest import did_you_mean
from skillopt.errors import InputError

#: Lifts a limit.
NONE: Final = frozenset({"none", "null"})
_ENDLESS: Final = frozenset({"inf", "infinity", "nan"})
#: As a spec writes the keys, by those of `Retuning`.
KEYS: Final = {
    "budget.max_usd": "max_usd",
    "budget.max_calls": "max_calls",
    "budget.max_tokens": "max_tokens",
    "budget.max_minutes": "max_minutes",
    "priority": "priority",
    "window": "window",
    "stop.patience": "patience",
    "stop.target_score": "target_score",
}


def read_retuning(written: Sequence[str]) -> Retuning:
    """Read `key=value`, with or without the key's section; the last of one key counts.

    Raises InputError for a key that cannot change while a run goes on, and for a value that does
    not fit.
    """
    if not written:
        raise InputError(
            f"say what to change, e.g. --set budget.max_usd=5; known keys: {', '.join(KEYS)}"
        )
    changes = dict(_read(one) for one in written)
    try:
        return Retuning.model_validate(changes)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(
            f"--set {_written(first['loc'][0])}: {first['input']!r} does not fit: {first['msg']}"
        ) from error


def _written(field: object) -> str:
    return next(key for key, known in KEYS.items() if known == field)


def _read(one: str) -> tuple[str, Any]:
    key, equals, text = (part.strip() for part in one.partition("="))
    if not equals or not text:
        raise InputError(f"--set: {one!r} is not understood; write --set budget.max_usd=5")
    field = KEYS.get(key, key)
    if field not in KEYS.values():
        raise InputError(
            f"--set: {key!r} does not change while a run goes on; {did_you_mean(key, KEYS, 'keys')}"
        )
    lifted = text.lower() in NONE
    if lifted and field == "priority":
        raise InputError(f"--set {one}: a run always has a priority; give low, normal or high")
    if text.lower().lstrip("+-") in _ENDLESS:
        raise InputError(f"--set {key}: {text!r} is no number; give one, or none for no limit")
    return field, None if lifted else text.replace("_", "")
