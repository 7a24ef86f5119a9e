"""A spec file on top of the files it extends, with the command line's `--set` on top of all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skillopt.config.origins import COMMAND_LINE, KeyPath, Origin
from skillopt.config.role_section import name_as_section
from skillopt.config.yaml_source import Document, parse_value, read_document
from skillopt.errors import ConfigError

EXTENDS = "extends"


def load_layers(path: Path) -> Document:
    """Read a spec and, recursively, what it extends; the extending file wins."""
    return _load(path, read_document(path, what="a spec file"), (path.resolve(),))


def _load(path: Path, document: Document, chain: tuple[Path, ...]) -> Document:
    if EXTENDS not in document.data:
        return document
    where = document.origin((EXTENDS,))
    base_name = document.data[EXTENDS]
    if not isinstance(base_name, str) or not base_name:
        raise ConfigError(f"{where}: extends: {base_name!r} is not a file name; name one YAML file")
    base_path = path.parent / base_name
    resolved = base_path.resolve()
    if resolved in chain:
        names = " -> ".join(link.name for link in (*chain, resolved))
        raise ConfigError(f"{where}: extends: {base_name!r} leads back to itself ({names})")
    if not base_path.is_file():
        raise ConfigError(
            f"{where}: extends: {base_name!r} does not exist; it is looked up as {str(base_path)!r}"
        )
    base = _load(base_path, read_document(base_path), (*chain, resolved))
    data = {key: value for key, value in document.data.items() if key != EXTENDS}
    return merge(base, Document(document.file, data, document.origins))


def merge(base: Document, child: Document) -> Document:
    """Put `child` on top of `base`: mappings are merged, any other value is replaced.

    A role's name counts as a mapping where `child` has one for that role.
    """
    base = name_as_section(base, child.data)
    origins = dict(base.origins)
    data = _merged(base.data, child.data, (), origins)
    origins.update(child.origins)
    return Document(child.file, data, origins)


def _merged(
    below: Any,  # noqa: ANN401 - any YAML value
    above: Any,  # noqa: ANN401
    path: KeyPath,
    origins: dict[KeyPath, Origin],
) -> Any:  # noqa: ANN401
    if not (isinstance(below, dict) and isinstance(above, dict)):
        for replaced in [known for known in origins if known[: len(path)] == path]:
            del origins[replaced]
        return above
    result = dict(below)
    for key, value in above.items():
        result[key] = _merged(below[key], value, (*path, key), origins) if key in below else value
    return result


def apply_overrides(
    document: Document, overrides: Sequence[str], where: Origin = COMMAND_LINE
) -> Document:
    """Apply `section.key=value` options of the command line in order; values are YAML."""
    for override in overrides:
        name, equals, text = override.partition("=")
        keys = tuple(name.strip().split("."))
        if not equals or not all(keys):
            raise ConfigError(
                f"--set: {override!r} is not understood; write --set section.key=value"
            )
        if keys[0] == EXTENDS:
            raise ConfigError("--set: extends cannot be set here; write it into the spec file")
        data: Any = parse_value(text, Origin(f"--set {name.strip()}"))
        for key in reversed(keys):
            data = {key: data}
        document = name_as_section(document, data)
        # What the option itself brings into being is its own fault, from the first new key on.
        new = [keys[:n] for n in range(1, len(keys)) if _is_new(document, keys[:n])]
        origins: dict[KeyPath, Origin] = dict.fromkeys([*new, keys], where)
        top = Document(document.file, data, origins)
        document = merge(document, top)
    return document


def _is_new(document: Document, path: tuple[str, ...]) -> bool:
    """Whether a section is not there yet, or something else stands in its place."""
    value: Any = document.data
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return not isinstance(value, dict)
