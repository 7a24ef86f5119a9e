"""What pydantic found, in words a person can act on: the value, and what to write instead."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from skillopt.config.origins import KeyPath, Problems, dotted
from skillopt.config.spellings import FOREIGN_KEYS, FOREIGN_VALUES, LATER_KEYS, SECRET_KEYS
from skillopt.config.suggest import did_you_mean, nearest
from skillopt.config.yaml_source import Document

_WORDS = {
    "greater_than": "is too small",
    "greater_than_equal": "is too small",
    "less_than": "is too large",
    "less_than_equal": "is too large",
    "string_too_short": "is empty",
    "finite_number": "is not finite",
    "string_pattern_mismatch": "is not allowed",
}


def report(
    error: ValidationError,
    model: type[BaseModel],
    *,
    document: Document,
    problems: Problems,
    prefix: KeyPath = (),
    hints: Mapping[str, str] | None = None,
) -> None:
    """Add every problem of a failed validation, located in the document.

    `prefix` is the path of the validated value in the document. Values are shown as they are
    written there, so what an environment variable put into them stays unseen. `hints` say what
    to write for a key (dotted, below the prefix) that is missing or does not fit.
    """
    for details in error.errors(include_url=False):
        loc = tuple(details["loc"])
        path = prefix + loc
        if details["type"] == "extra_forbidden":
            key = str(loc[-1])
            text = unknown_key(
                dotted(path), key, _known_keys(model, loc[:-1]), elsewhere=_homes(model, key)
            )
        else:
            fault, fix = _explain(details, model, _written(document.data, path))
            text = f"{dotted(path)}{fault}; {(hints or {}).get(dotted(loc), fix)}"
        problems.add(document.origin(path), text)


def _explain(details: ErrorDetails, model: type[BaseModel], shown: object) -> tuple[str, str]:
    """Say what is wrong (to follow the key) and what to do."""
    kind = details["type"]
    field = _field(model, details["loc"])
    if kind == "missing":
        return " is missing", "add it"
    if kind == "value_error":
        fault, _, fix = str(details["ctx"]["error"]).partition("; ")
        return f": {fault}", fix or "change it"
    if kind == "string_type" and field is None:
        return f": {shown!r} is not a text", "write it in quotes"
    if field is None:
        return f": {shown!r} does not fit", details["msg"]
    if shown is None:
        return " has no value", _wanted(field)
    if kind == "literal_error":
        return _not_a_choice(dotted(tuple(details["loc"])), shown, field)
    if kind in _WORDS:
        return f": {shown!r} {_WORDS[kind]}", _wanted(field)
    return f": {shown!r} is not {_noun(field)}", _wanted(field)


def unknown_key(path: str, key: str, known: Iterable[str], *, elsewhere: Sequence[str] = ()) -> str:
    """Say that a key is not known: how it is spelt here, or which known key is near.

    `elsewhere` are the keys of the same name in other sections.
    """
    if elsewhere:
        return f"{path} is not a known key; write {' or '.join(elsewhere)}"
    if key in FOREIGN_KEYS:
        return f"{path} is a key of another tool; {FOREIGN_KEYS[key]}"
    if key in SECRET_KEYS:
        return f"{path} is not allowed; name the key's environment variable with api_key_env"
    if key in LATER_KEYS:
        return f"{path} is not part of this version; {LATER_KEYS[key]}"
    return f"{path} is not a known key; {did_you_mean(key, known, 'keys')}"


def _not_a_choice(key: str, shown: object, field: FieldInfo) -> tuple[str, str]:
    foreign = FOREIGN_VALUES.get(key, {}).get(str(shown))
    if foreign:
        return f": {shown!r} is a word of another tool", foreign
    choices = [str(choice) for choice in get_args(_plain_type(field))]
    if len(choices) == 1:
        return (
            f": {shown!r} is not part of this version",
            f"the supported value is {choices[0]!r}",
        )
    guess = nearest(str(shown), choices)
    fix = f"did you mean {guess!r}?" if guess else "give one of these"
    return f": {shown!r} is not one of {', '.join(choices)}", fix


def _written(data: object, path: KeyPath) -> object:
    for part in path:
        if isinstance(data, list):
            data = dict(enumerate(data))
        if not isinstance(data, dict):
            return None
        data = data.get(part)
    return data


def _plain_type(field: FieldInfo) -> Any:  # noqa: ANN401 - any type expression
    """The field's type without `| None`."""
    annotation = field.annotation
    if get_origin(annotation) in (Union, types.UnionType):
        kept = [part for part in get_args(annotation) if part is not type(None)]
        return kept[0]
    return annotation


def _submodel(field: FieldInfo | None) -> type[BaseModel] | None:
    plain = None if field is None else _plain_type(field)
    return plain if isinstance(plain, type) and issubclass(plain, BaseModel) else None


def _field(model: type[BaseModel], loc: KeyPath) -> FieldInfo | None:
    current: type[BaseModel] | None = model
    field: FieldInfo | None = None
    for part in loc:
        if current is None or not isinstance(part, str):
            return None
        field = current.model_fields.get(part)
        current = _submodel(field)
    return field


def _known_keys(model: type[BaseModel], loc: KeyPath) -> list[str]:
    owner = _submodel(_field(model, loc)) if loc else model
    return [] if owner is None else list(owner.model_fields)


def _homes(model: type[BaseModel], key: str) -> list[str]:
    """Where a key of this name does belong, in which sections."""
    return [
        f"{name}.{key}"
        for name, field in model.model_fields.items()
        if (section := _submodel(field)) is not None and key in section.model_fields
    ]


def _noun(field: FieldInfo) -> str:
    plain = _plain_type(field)
    nouns = {int: "an integer", float: "a number", bool: "true or false", str: "a text"}
    if plain in nouns:
        return nouns[plain]
    if _submodel(field) or get_origin(plain) is dict:
        return "a section"
    if get_origin(plain) is tuple:
        return "a list"
    return "a usable value"


def _wanted(field: FieldInfo) -> str:
    plain = _plain_type(field)
    if plain is int:
        return "give a whole number" + _bounds(field)
    if plain is float:
        return "give a number" + _bounds(field)
    if plain is bool:
        return "write true or false"
    if plain is str:
        return "write it in quotes"
    if get_origin(plain) is Literal:
        return f"give one of {', '.join(map(str, get_args(plain)))}"
    if get_origin(plain) is tuple:
        return "write a list, like [a, b]"
    return "write `key: value` lines below it"


def _bounds(field: FieldInfo) -> str:
    words = []
    for bound in field.metadata:
        if isinstance(bound, annotated_types.Ge):
            words.append(f"of at least {bound.ge}")
        elif isinstance(bound, annotated_types.Gt):
            words.append(f"above {bound.gt}")
        elif isinstance(bound, annotated_types.Le):
            words.append(f"at most {bound.le}")
        elif isinstance(bound, annotated_types.Lt):
            words.append(f"below {bound.lt}")
    return f" {' and '.join(words)}" if words else ""
