"""The form of a reply as each API asks for it, and what a server says that cannot do it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from skillopt.domain.backend import StructuredOutput
from skillopt.domain.reply_schema import ReplySchema

Row = dict[str, Any]

#: How servers name what they refuse, whatever they call the rest of their trouble.
_NAMED = re.compile(
    r"response_?format|json_?schema|json_object|text\.format|output_config|output_format|"
    r"structured.?output|guided_|grammar",
    re.IGNORECASE,
)
#: Statuses by which a request is refused, and those by which some servers refuse it too.
_REFUSING = frozenset({400, 404, 415, 422, 500, 501})

FIX = "write structured_output: none (or json_object) at this backend of the catalogue"


def chat_format(form: StructuredOutput, schema: ReplySchema | None) -> Row | None:
    """Give `response_format` of Chat Completions; None: nothing is asked for."""
    if schema is None or form == "none":
        return None
    if form == "json_object":
        return {"type": "json_object"}
    described = {"name": schema.name, "schema": schema.body, "strict": True}
    return {"type": "json_schema", "json_schema": described}


def responses_format(form: StructuredOutput, schema: ReplySchema | None) -> Row | None:
    """Give `text.format` of Responses."""
    if schema is None or form == "none":
        return None
    if form == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "name": schema.name, "schema": schema.body, "strict": True}


def messages_format(form: StructuredOutput, schema: ReplySchema | None) -> Row | None:
    """Give `output_config.format` of Messages, which knows schemas only."""
    if schema is None or form != "json_schema":
        return None
    return {"type": "json_schema", "schema": schema.body}


def within(given: Mapping[str, Any], key: str, asked: Row) -> Row:
    """Put a format into an object that the catalogue may have begun (`text: {verbosity: low}`)."""
    begun = given.get(key)
    return {**(begun if isinstance(begun, dict) else {}), "format": asked}


def refuses_the_form(status: int, said: str) -> bool:
    """Say whether an error to a request with a format is about that format."""
    return status in _REFUSING and _NAMED.search(said) is not None
