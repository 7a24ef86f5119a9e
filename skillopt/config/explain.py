"""Every value of a run, and where it came from: a line of a file, an option, the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skillopt.config.catalogue import Catalogue
from skillopt.config.entries import SIMULATOR_URL_VARIABLE
from skillopt.config.interpolate import Interpolation, variables_in
from skillopt.config.origins import KeyPath, Problems, dotted
from skillopt.config.payers import VARIABLES
from skillopt.config.published import PUBLISHED_REVISION
from skillopt.config.role_section import MODEL, PARAMS, STAGES
from skillopt.config.roles import backend_names
from skillopt.config.schema import ParsedSpec
from skillopt.config.yaml_source import Document
from skillopt.domain.backend import Backend, BackendUse
from skillopt.domain.usage import Role

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
    uses: Mapping[Role, BackendUse],
) -> dict[str, Explained]:
    """Give every key, dotted, with its value; `name` and `ratio` are those that came out."""
    document = parsed.document
    explained = {
        dotted(path): Explained(value, _origin(document, path))
        for path, value in _leaves(parsed.spec.model_dump(mode="json", exclude={"backends"}), ())
    }
    if parsed.spec.name is None:
        explained["name"] = Explained(name, f"{DEFAULT} (the spec's file or folder)")
    names = backend_names(parsed.spec)
    if parsed.spec.model.optimizer is None:
        explained["model.optimizer"] = Explained(names["optimizer"], f"{DEFAULT} (model.target)")
    if parsed.spec.model.judge is None and "judge" in uses:
        explained["model.judge"] = Explained(names["judge"], f"{DEFAULT} (model.optimizer)")
    explained |= _roles(parsed, catalogue)
    if parsed.spec.split.ratio is None:
        why = "" if ratio else " (the tasks are already divided)"
        explained["split.ratio"] = Explained(ratio, DEFAULT + why)
    for payer, variable in VARIABLES.items():
        named = catalogue.environ.get(variable)
        if named and getattr(parsed.spec, payer) is None:
            explained[payer] = Explained(named, _environment(variable))
    for backend in backends.values():
        explained |= _backend(backend, catalogue)
    return explained


def _roles(parsed: ParsedSpec, catalogue: Catalogue) -> dict[str, Explained]:
    """Give the parameters that roles and stages change, as they are used."""
    document, environ = parsed.document, catalogue.environ
    explained = {}
    for role, section in parsed.roles.items():
        changed = {PARAMS: section.params, STAGES: section.stages}
        for path, value in _leaves(changed, (MODEL, role)):
            if value != {}:
                shown = Interpolation(environ, document, Problems()).apply(value, path)
                explained[dotted(path)] = Explained(shown, _entry_origin(document, path, catalogue))
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
    left_out = {"name", "azure", "agent", "price_from", *(("params",) if backend.agent else ())}
    known = backend.model_dump(mode="json", exclude=left_out)
    # What Azure or an agent program needs is written beside the other keys.
    known |= backend.azure.model_dump(mode="json") if backend.azure else {}
    known |= backend.agent.model_dump(mode="json", exclude={"program"}) if backend.agent else {}
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
        if origin == DEFAULT and path[0] == "price" and backend.price_from:
            origin = f"list price ({backend.price_from})"
        if origin == DEFAULT and path == ("version",):
            origin = f"{DEFAULT} (told by the program)"
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
