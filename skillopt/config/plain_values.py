"""Values that a program gives, brought into the form that files have: JSON and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from skillopt.config.json_source import MAX_DEPTH, is_encodable
from skillopt.config.origins import KeyPath, Origin, dotted
from skillopt.errors import InputError

_SHOWN_CHARS = 200


def plain(value: object, where: Origin, *, error: type[InputError], path: KeyPath = ()) -> Any:  # noqa: ANN401
    """Copy a value with tuples as lists; raises `error`, naming the key, for what JSON has not."""
    if not isinstance(value, Mapping | list | tuple):
        fault = _scalar_fault(value)
        if fault is not None:
            raise error(_located(where, path, value, fault))
        return value
    if len(path) >= MAX_DEPTH:
        raise error(f"{where}: is nested more than {MAX_DEPTH} levels deep; give it flatter")
    if isinstance(value, list | tuple):
        return [plain(part, where, error=error, path=(*path, n)) for n, part in enumerate(value)]
    copy = {}
    for key, part in value.items():
        if not isinstance(key, str) or not is_encodable(key):
            raise error(_located(where, path, key, "is a key but not a text; give texts as keys"))
        copy[key] = plain(part, where, error=error, path=(*path, key))
    return copy


def _scalar_fault(value: object) -> str | None:
    if isinstance(value, str):
        return None if is_encodable(value) else "holds half of a surrogate pair; repair it"
    if isinstance(value, float):
        return None if math.isfinite(value) else "is not finite; give a number"
    if value is None or isinstance(value, int):
        return None
    return f"is of type {type(value).__name__!r}; give texts, numbers, lists and dicts"


def _located(where: Origin, path: KeyPath, value: object, fault: str) -> str:
    label = f"{dotted(path)}: " if path else ""
    return f"{where}: {label}{repr(value)[:_SHOWN_CHARS]} {fault}"
