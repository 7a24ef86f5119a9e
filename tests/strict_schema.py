"""A JSON schema as a strict server enforces it, for the keywords that our schemas use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_KINDS: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
}


def faults(value: Any, schema: dict[str, Any], where: str = "reply") -> Iterator[str]:
    """Say what of a value does not fit."""
    if not isinstance(value, _KINDS[schema["type"]]) or isinstance(value, bool):
        yield f"{where} is no {schema['type']}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of {schema['enum']}"
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from faults(item, schema["items"], f"{where}[{place}]")
    elif isinstance(value, dict):
        if value.keys() != set(schema["required"]):
            yield f"{where} has {sorted(value)} instead of {schema['required']}"
        for name in value.keys() & schema["properties"].keys():
            yield from faults(value[name], schema["properties"][name], f"{where}.{name}")
