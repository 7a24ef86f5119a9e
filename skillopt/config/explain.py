"""Every value of a run, and where it came from: a line of a file, an option, the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skillopt.config.catalogue import Catalogue
from skillopt.config.entries import PUBLISHED_REVISION, SIMULATOR_URL_VARIABLE
from skillopt.config.interpolate import variables_in
from skillopt.config.origins import KeyPath, dotted
from skillopt.config.schema import ParsedSpec
from skillopt.config.yaml_source import Document
from skillopt.domain.backend import Backend

DEFAULT = "default"


@dataclass(frozen=True)
class Explained:
    """A value as the run uses it, and its origin in words."""

    value: Any
    origin: str


def explain(
    parsed: ParsedSpec,
    *,
    name: str,
    ratio: str | None,
    catalogue: Catalogue,
    backends: Mapping[str, Backend],
) -> dict[str, Explained]:
    """Give every key, dotted, with its value; `name` and `ratio` are those that came out."""
    document = parsed.document
    explained = {
        dotted(path): Explained(value, _origin(document, path))
        for path, value in _leaves(parsed.spec.model_dump(mode="json", exclude={"backends"}), ())
    }
    if parsed.spec.name is None:
        explained["name"] = Explained(name, f"{DEFAULT} (the spec's file or folder)")
    if parsed.spec.model.optimizer is None:
        explained["model.optimizer"] = Explained(
            parsed.spec.model.target, f"{DEFAULT} (model.target)"
        )
    if parsed.spec.split.ratio is None:
        why = "" if ratio else " (the tasks are already divided)"
        explained["split.ratio"] = Explained(ratio, DEFAULT + why)
    for backend in backends.values():
        explained |= _backend(backend, catalogue)
    return explained


def _leaves(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:  # noqa: ANN401 - JSON
    if not isinstance(value, dict) or not value:
        yield path, value
        return
    for key, part in value.items():
        yield from _leaves(part, (*path, key))


def _origin(document: Document, path: KeyPath) -> str:
    return str(document.origin(path)) if _is_written(document.data, path) else DEFAULT


def _is_written(data: Any, path: KeyPath) -> bool:  # noqa: ANN401 - any YAML value
    """Whether a value was written, or follows from one that was: `price: 0` sets all prices."""
    for key in path:
        if not isinstance(data, dict):
            return data is not None
        if key not in data:
            return False
        data = data[key]
    return True


def _backend(backend: Backend, catalogue: Catalogue) -> dict[str, Explained]:
    source = catalogue.source(backend.name)
    assert source is not None  # it was resolved from there
    explained = {}
    known = backend.model_dump(mode="json", exclude={"name", "azure"})
    # What Azure needs is written beside the other keys.
    known |= backend.azure.model_dump(mode="json") if backend.azure else {}
    for path, value in _leaves(known, ()):
        whole: KeyPath = ("backends", backend.name, *path)
        if backend.azure and path == ("model",):
            whole = ("backends", backend.name, "deployment")
        origin = _entry_origin(source, whole, catalogue)
        if path == ("subscription",):
            origin = _entry_origin(source, (*whole[:-1], "price"), catalogue)
        if origin == DEFAULT and path == ("base_url",) and value is not None:
            origin = _environment(SIMULATOR_URL_VARIABLE)
        if origin == DEFAULT and path == ("revision",) and value:
            origin = f"{DEFAULT} ({_revision_from(backend)})"
        explained[dotted(whole)] = Explained(value, origin)
    return explained


def _revision_from(backend: Backend) -> str:
    if backend.kind != "simulated":
        return "from base_url"
    return "not asked" if backend.revision == PUBLISHED_REVISION else "told by the simulator"


def _entry_origin(source: Document, path: KeyPath, catalogue: Catalogue) -> str:
    origin = _origin(source, path)
    written: Any = source.data
    for key in path:
        written = written.get(key) if isinstance(written, dict) else None
    used = variables_in(written, catalogue.environ) if isinstance(written, str) else []
    return f"{_environment(*used)}, named in {origin}" if used else origin


def _environment(*variables: str) -> str:
    return f"environment ({', '.join(variables)})"
