"""The form of a reply that a request may ask for: checked as real servers check it, and obeyed.

A model that writes JSON by itself writes what it always does, so that asking for a form changes
nothing about what it says; where it would write prose, its words go into an object of that form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
#: What an object is filled with, by the type of its schema.
_PLAIN: dict[str, object] = {
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "null": None,
}
_DEEPEST = 20
#: Words of a schema that the Messages API does not know.
_NOT_IN_MESSAGES = ("minimum", "maximum", "multipleOf", "minLength", "maxLength", "maxItems")


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class JsonSchema(_Part):
    name: str = "reply"
    body: dict[str, Any] = Field(alias="schema", default_factory=dict)
    strict: bool | None = None


class ResponseFormat(_Part):
    """`response_format` of Chat Completions, as which every API's form is told."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None

    @property
    def wants_json(self) -> bool:
        return self.type != "text"

    def fault(self) -> str | None:
        """Say what a strict server would refuse; None if nothing."""
        if self.type != "json_schema":
            return None
        if self.json_schema is None:
            return "missing required parameter: 'response_format.json_schema'"
        name = self.json_schema.name
        if not _NAME.match(name):
            return f"invalid 'response_format.json_schema.name': {name!r}"
        found = closed_fault(self.json_schema.body, required=True)
        if found is None or not self.json_schema.strict:
            return None
        return f"Invalid schema for response_format {name!r}: {found}"


def closed_fault(schema: dict[str, Any], *, required: bool) -> str | None:
    """Say where a schema leaves an object open, or (if `required`) a property to choice."""
    if schema.get("type") != "object":
        return "schema must be of type 'object' at its top"
    for path, part in _objects(schema, ()):
        context = f"In context={path!r}, "
        if part.get("additionalProperties") is not False:
            return f"{context}'additionalProperties' is required to be supplied and to be false"
        missing = sorted(set(part.get("properties", {})) - set(part.get("required", ())))
        if required and missing:
            return f"{context}'required' must include every key of properties; missing {missing}"
    return None


def messages_fault(schema: dict[str, Any]) -> str | None:
    """Say what the Messages API would refuse of a schema; None if nothing."""
    found = closed_fault(schema, required=False)
    if found is not None:
        return f"output_config.format.schema: {found}"
    for path, part in _parts(schema, ()):
        for word in _NOT_IN_MESSAGES:
            if word in part and path[-1:] != ("properties",):
                return f"output_config.format.schema: {path!r}: property {word!r} is not supported"
    return None


def in_form(text: str, asked: ResponseFormat) -> str:
    """Say a text as an object of the form that is asked for."""
    schema = asked.json_schema.body if asked.json_schema is not None else {}
    properties = schema.get("properties") or {"text": {"type": "string"}}
    filled = {name: _value(part, text, 1) for name, part in properties.items()}
    return json.dumps(filled, ensure_ascii=False)


def _value(schema: Any, text: str, depth: int) -> object:  # noqa: ANN401 - a schema is anything
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return text
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        return {name: _value(part, text, depth + 1) for name, part in properties.items()}
    return _PLAIN.get(str(schema.get("type")), text)


def _objects(part: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for at, found in _parts(part, path):
        if found.get("type") == "object":
            yield at, found


def _parts(part: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Walk over every mapping of a schema, as deep as schemas are."""
    if len(path) > _DEEPEST * 2:
        return
    if isinstance(part, dict):
        yield path, part
        for name, inner in part.items():
            yield from _parts(inner, (*path, str(name)))
    elif isinstance(part, list):
        for number, inner in enumerate(part):
            yield from _parts(inner, (*path, str(number)))
