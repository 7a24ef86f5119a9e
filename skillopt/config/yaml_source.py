"""YAML files whose every value knows the file and line it was written on.

Scalars follow YAML 1.2: only `true` and `false` are booleans, so `cache: off` is a word, and
`2:1` is a ratio rather than a number to the base of 60.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from skillopt.config.json_source import is_encodable
from skillopt.config.origins import MAX_PROBLEMS_SHOWN, KeyPath, Origin, Problems, dotted
from skillopt.config.text_file import read_text
from skillopt.errors import ConfigError

_MAX_BYTES = 4 * 1024 * 1024
#: What a file may grow to when every alias is written out, and how deep it may be nested.
_MAX_VALUES = 100_000
_MAX_DEPTH = 64
_COLLECTION_TAGS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})
_SCALAR_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")
)


class _Loader(yaml.SafeLoader):
    """Resolves plain scalars by the patterns below and no others."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)", "tTfF"),
    ("null", r"(?:~|null|Null|NULL|)", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)",
        "-+.0123456789",
    ),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first)
    )


@dataclass(frozen=True)
class Document:
    """A mapping read from YAML, and where each of its values was written."""

    file: Origin
    data: dict[str, Any]
    origins: Mapping[KeyPath, Origin]

    def origin(self, path: KeyPath) -> Origin:
        """Where a value was written; for one that is missing, where it should have been."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        return self.file


def read_document(path: Path, *, what: str = "a YAML file") -> Document:
    """Read one file; raises ConfigError naming file and line."""
    file = Origin(str(path), folder=path.parent)
    return parse_document(read_text(path, what=what, error=ConfigError, max_bytes=_MAX_BYTES), file)


def parse_document(text: str, file: Origin) -> Document:
    """Parse a text whose top level is a mapping (or empty)."""
    value, origins = _parse(text, file)
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise ConfigError(f"{file}: holds {value!r}; expected `key: value` lines")
    return Document(file, value, origins)


def parse_value(text: str, file: Origin) -> Any:  # noqa: ANN401 - any YAML value
    """Parse one value, as written on a command line."""
    return _parse(text, file)[0]


def _parse(text: str, file: Origin) -> tuple[Any, dict[KeyPath, Origin]]:
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            tree = _Tree(loader, file)
            value = None if node is None else tree.value(node, ())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Origin(file.source, None if mark is None else mark.line + 1)
        column = "" if mark is None else f" at column {mark.column + 1}"
        raise ConfigError(
            f"{where}: not valid YAML{column}: {error.problem or error.context}; "
            "check indentation, colons and quotes there"
        ) from error
    except RecursionError:
        raise ConfigError(f"{file}: is nested too deeply; write it flatter") from None
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{file}: not valid YAML: {reason}; save it as plain text") from error
    tree.problems.raise_any(ConfigError, at_most=MAX_PROBLEMS_SHOWN)
    return value, tree.origins


class _Tree:
    """Turns nodes into values and remembers their lines."""

    def __init__(self, loader: _Loader, file: Origin) -> None:
        self.origins: dict[KeyPath, Origin] = {}
        self.problems = Problems()
        self._loader = loader
        self._file = file
        self._open: set[int] = set()
        self._values = 0

    def value(self, node: yaml.Node, path: KeyPath) -> Any:  # noqa: ANN401 - any YAML value
        self._values += 1
        if self._values > _MAX_VALUES:
            raise ConfigError(
                f"{self._at(node)}: the file holds more than {_MAX_VALUES} values, each alias "
                "written out; use fewer aliases"
            )
        if len(path) > _MAX_DEPTH:
            raise ConfigError(
                f"{self._at(node)}: is nested more than {_MAX_DEPTH} levels deep; write it flatter"
            )
        if id(node) in self._open:
            where = self.origins.get(path, self._file)
            self.problems.add(where, f"{dotted(path)}: the alias refers to itself")
            return None
        self._open.add(id(node))
        try:
            if not isinstance(node, yaml.ScalarNode) and node.tag not in _COLLECTION_TAGS:
                return self._unsupported(node, path)
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return self._sequence(node, path)
            return self._scalar(node, path)
        finally:
            self._open.remove(id(node))

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            here = (*path, key)
            if key in result:
                self.problems.add(
                    self._at(key_node),
                    f"{dotted(here)} is given twice (first on line {self.origins[here].line}); "
                    "remove one",
                )
                continue
            self.origins[here] = self._at(key_node)
            result[key] = self.value(value_node, here)
        return result

    def _key(self, node: yaml.Node, path: KeyPath) -> str | None:
        """Give a key, or None once it has been reported."""
        before = len(self.problems)
        key = self._scalar(node, path)
        if len(self.problems) > before:
            return None
        if key == "<<":
            self.problems.add(
                self._at(node), "'<<' (merging) is not supported; write the keys out, or `extends:`"
            )
            return None
        if not isinstance(key, str):
            shown = node.value if isinstance(node, yaml.ScalarNode) else key
            self.problems.add(self._at(node), f"the key {shown!r} is not text; put it in quotes")
            return None
        return key

    def _sequence(self, node: yaml.SequenceNode, path: KeyPath) -> list[Any]:
        result = []
        for position, item in enumerate(node.value):
            self.origins[*path, position] = self._at(item)
            result.append(self.value(item, (*path, position)))
        return result

    def _scalar(self, node: yaml.Node, path: KeyPath) -> Any:  # noqa: ANN401 - any YAML value
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _SCALAR_TAGS:
            return self._unsupported(node, path)
        try:
            value = self._loader.construct_object(node)
        except ValueError:
            self.problems.add(
                self._at(node), f"{dotted(path)}: {node.value!r} does not fit its tag {node.tag!r}"
            )
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self.problems.add(
                self._at(node), f"{dotted(path)}: {node.value!r} is no finite number; give one"
            )
        if isinstance(value, str) and not is_encodable(value):
            self.problems.add(
                self._at(node),
                f"{dotted(path)}: {value!r} holds half of a surrogate pair; write the character "
                "itself",
            )
        return value

    def _unsupported(self, node: yaml.Node, path: KeyPath) -> None:
        self.problems.add(
            self._at(node),
            f"{dotted(path) or 'the file'}: {node.tag!r} is not supported here; write a plain "
            "value, list or section",
        )

    def _at(self, node: yaml.Node) -> Origin:
        return Origin(self._file.source, node.start_mark.line + 1, self._file.folder)
