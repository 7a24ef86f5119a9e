"""A spec that came over the network: what it may refer to, checked before anything is loaded.

A spec on a person's own machine may name any file and variable of it. One that was uploaded may
name only what lies in its archive, and backends of the server's own catalogue.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from producer.api.caller import Caller
from skillopt.config.catalogue import FILE_NAME as BACKENDS_FILE
from skillopt.config.layers import EXTENDS
from skillopt.config.origins import KeyPath, Origin, Problems, dotted
from skillopt.config.yaml_source import Document, parse_value, read_document
from skillopt.domain.hosts import is_loopback
from skillopt.errors import ConfigError

#: Keys whose values are paths.
_PATHS: Final = ("skill", "tasks", "memory", "prompts")
#: Keys that are texts for people or models: `${…}` in them is no variable.
_TEXTS: Final = frozenset({"preferences", "judge", "fields", "labels", "name"})
_VARIABLE: Final = re.compile(r"\$\{")
_CODE_JUDGES: Final = frozenset({"python", "function"})
_LONGEST_CHAIN: Final = 20


def check_uploaded(root: Path, spec: Path, overrides: Sequence[str], caller: Caller) -> None:
    """Raise ConfigError, with every problem, for a spec that reaches out of its archive."""
    problems = Problems()
    layers = list(_layers(root, spec, problems))
    if not _is_named(root, spec, layers, overrides):
        problems.add(
            None,
            f"{spec.name}: has no `name:`, and lies in no folder of the archive that could give "
            "one; add it",
        )
    for layer in layers:
        folder = Path(layer.file.source).parent
        if (folder / BACKENDS_FILE).exists():
            problems.add(
                None,
                f"{BACKENDS_FILE} beside the spec is not taken: runs use the server's backends by "
                "name; leave it out of the archive",
            )
        for key, value in layer.data.items():
            _check_value((key,), value, layer.origin((key,)), caller, problems)
        _check_paths(root, layer, problems)
    for override in overrides:
        _check_override(override, caller, problems)
    problems.raise_any(ConfigError)


def _layers(root: Path, spec: Path, problems: Problems) -> Iterator[Document]:
    """Give the spec and what it extends, as long as that stays inside."""
    path, seen = spec, 0
    while seen < _LONGEST_CHAIN:
        seen += 1
        document = read_document(path, what="a spec file")
        yield document
        base = document.data.get(EXTENDS)
        if not isinstance(base, str):
            return  # none, or one that loading explains
        path = path.parent / base
        if not _inside(root, path):
            problems.add(document.origin((EXTENDS,)), _leads_out(EXTENDS, base))
            return
        if not path.is_file():
            return  # loading says so
    problems.add(None, f"extends: more than {_LONGEST_CHAIN} files; put them together")


def _is_named(root: Path, spec: Path, layers: Sequence[Document], overrides: Sequence[str]) -> bool:
    """Whether a run's name follows from what was sent, not from where it lies here."""
    return (
        spec.stem != "spec"
        or spec.parent != root
        or any("name" in layer.data for layer in layers)
        or any(one.partition("=")[0].strip() == "name" for one in overrides)
    )


def _check_paths(root: Path, layer: Document, problems: Problems) -> None:
    folder = Path(layer.file.source).parent
    for key in _PATHS:
        written = layer.data.get(key)
        where = layer.origin((key,))
        if not isinstance(written, str):
            continue  # loading says what is wrong with it
        if written.startswith("~") or not _inside(root, folder / written):
            problems.add(where, _leads_out(key, written))


def _inside(root: Path, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def _leads_out(key: str, written: str) -> str:
    return (
        f"{key}: {written!r} leads out of the archive; put the file into it, and name it from the "
        "spec's own folder"
    )


def _check_value(
    path: KeyPath,
    value: Any,  # noqa: ANN401 - any YAML value
    where: Origin,
    caller: Caller,
    problems: Problems,
) -> None:
    key = path[0]
    if key == "backends":
        problems.add(
            where,
            "backends: an uploaded spec cannot define backends; name those of the server's "
            "catalogue under `model:`",
        )
        return
    if key in {"owner", "team"}:
        own = caller.owner if key == "owner" else caller.team
        if value not in (None, own):
            problems.add(where, f"{key}: {value!r} is not your token's; leave it out")
    if path == ("judge",) and isinstance(value, dict) and value.get("kind") in _CODE_JUDGES:
        problems.add(
            where,
            f"judge.kind: {value['kind']!r} runs code, which is not taken over the network; use "
            "a rule, an answer or a rubric",
        )
    if key == "notify":
        _check_webhook(value, where, problems)
    if key not in _TEXTS:
        for inner, text in _texts(path, value):
            if _VARIABLE.search(text):
                problems.add(
                    where,
                    f"{dotted(inner)}: {text!r} refers to a variable of the server, which an "
                    "uploaded spec may not; write the value itself",
                )


def _check_webhook(value: Any, where: Origin, problems: Problems) -> None:  # noqa: ANN401
    """Keep the server from calling itself and its neighbours on somebody's behalf."""
    url = value.get("webhook") if isinstance(value, dict) else None
    if not isinstance(url, str):
        return  # loading says what is wrong with it
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme != "https" or not host or is_loopback(host) or _is_inner(host):
        problems.add(
            where,
            f"notify.webhook: {url!r} is not a public https address; an uploaded spec may name no "
            "other",
        )


def _is_inner(host: str) -> bool:
    """Whether a host is an address (in any spelling) that is not a public one, or has no domain."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        last = host.rpartition(".")[2].lower()
        return "." not in host or last in {"local", "internal", "localhost"} or not last.isalpha()


def _texts(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, str]]:  # noqa: ANN401
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts((*path, str(key)), key if isinstance(key, str) else "")
            yield from _texts((*path, str(key)), part)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _texts((*path, place), part)


def _check_override(override: str, caller: Caller, problems: Problems) -> None:
    name, equals, text = override.partition("=")
    keys = tuple(part.strip() for part in name.strip().split("."))
    where = Origin(f"--set {name.strip()}")
    if keys[0] in {*_PATHS, EXTENDS}:
        problems.add(
            where, f"{keys[0]}: a path cannot be set over the network; write it into the spec"
        )
        return
    if not equals or not all(keys):
        return  # loading says what is wrong with it
    value: Any = parse_value(text, where)
    for key in reversed(keys[1:]):
        value = {key: value}
    _check_value(keys[:1], value, where, caller, problems)
