"""The catalogue of backends: where a name is looked up, and what it stands for.

Six places are looked at in turn: the spec, `--backends`, the variable SKILLOPT_BACKENDS,
`backends.yaml` beside the spec, the user's configuration folder, the packaged file. For each
name the first place that defines it wins as a whole. No key is ever read here; a backend only
carries the name of the variable that holds it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.config.entries import EntryReader
from skillopt.config.origins import Origin, Problems
from skillopt.config.packaged import configs_dir
from skillopt.config.prices import PriceBook, open_prices
from skillopt.config.suggest import did_you_mean, nearest
from skillopt.config.text_file import read_text
from skillopt.config.user_folder import user_file
from skillopt.config.yaml_source import Document, read_document
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError

FILE_NAME = "backends.yaml"
FILE_VARIABLE = "SKILLOPT_BACKENDS"
_SECTION = "backends"
#: A name becomes part of queue names, where `.q` marks the quarantine lane.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_RESERVED = "none"


@dataclass(frozen=True)
class Catalogue:
    """Backends by name; entries are read, and variables replaced, when a name is resolved."""

    sources: Sequence[Document]
    environ: Mapping[str, str]
    prices: PriceBook

    def names(self) -> list[str]:
        return sorted({name for source in self.sources for name in source.data[_SECTION]})

    def key_variables(self) -> frozenset[str]:
        """The variables that any entry names for a key, also of backends that nobody uses."""
        return frozenset(_variables([source.data[_SECTION] for source in self.sources]))

    def source(self, name: str) -> Document | None:
        """The place that defines a backend, with its lines; None if none does."""
        return next((one for one in self.sources if name in one.data[_SECTION]), None)

    def origin(self, name: str) -> Origin | None:
        """Where a backend is defined; None if nowhere."""
        source = self.source(name)
        return None if source is None else source.origin((_SECTION, name))

    def resolve(self, name: str, *, where: Origin | None = None, key: str = "") -> Backend:
        """Give the backend of a name; `where` and `key` say who asked for it.

        Raises ConfigError with everything that is wrong with the entry.
        """
        problems = Problems()
        label = f"{key}: " if key else ""
        source = self.source(name)
        if source is not None:
            path = (_SECTION, name)
            if not _NAME.match(name) or name.endswith(".q") or name == _RESERVED:
                problems.add(
                    source.origin(path),
                    f"the backend name {name!r} is not allowed; give letters, digits, '.', '_' "
                    "and '-' only, not ending in '.q', and not 'none'",
                )
            entry = source.data[_SECTION][name]
            backend = EntryReader(source, path, self.environ, problems).read(name, entry)
            problems.raise_any(ConfigError)
            assert backend is not None
            return self.prices.applied(backend)
        known = self.names()
        guess = nearest(name, known)
        hint = f"did you mean {guess!r}? Known" if guess else "known"
        problems.add(
            where, f"{label}no backend is called {name!r}; {hint} backends: {', '.join(known)}"
        )
        problems.raise_any(ConfigError)
        raise AssertionError("unreachable")


def open_catalogue(
    environ: Mapping[str, str],
    *,
    spec: Document | None = None,
    backends_file: Path | None = None,
) -> Catalogue:
    """Open every place a backend may be defined in; a place named by a person must exist."""
    sources = []
    if spec is not None and spec.data.get(_SECTION):
        sources.append(spec)
    if backends_file is not None:
        sources.append(_read_source(backends_file, "--backends"))
    if environ.get(FILE_VARIABLE):
        sources.append(_read_source(Path(environ[FILE_VARIABLE]), FILE_VARIABLE))
    optional = [user_file(environ, FILE_NAME), configs_dir() / FILE_NAME]
    if spec is not None and spec.file.folder is not None:
        optional.insert(0, spec.file.folder / FILE_NAME)
    sources += [_read_source(path, "") for path in optional if path is not None and path.is_file()]
    return Catalogue(sources, environ, open_prices(environ))


def _read_source(path: Path, named_by: str) -> Document:
    if named_by and not path.is_file():
        raise ConfigError(f"{named_by}: {str(path)!r} is not a file; name a backend catalogue")
    document = read_document(path, what="a backend catalogue")
    problems = Problems()
    for key in document.data:
        if key != _SECTION:
            problems.add(
                document.origin((key,)),
                f"{key} is not a known key; {did_you_mean(key, [_SECTION], 'keys')}",
            )
    entries = document.data.get(_SECTION) or {}
    if not isinstance(entries, dict):
        problems.add(
            document.origin((_SECTION,)),
            f"backends: {entries!r} is not a section; write `name: {{kind: …}}` lines below it",
        )
    problems.raise_any(ConfigError)
    return Document(document.file, {_SECTION: entries}, document.origins)


def _variables(value: Any) -> Iterator[str]:  # noqa: ANN401 - any YAML value
    if isinstance(value, list):
        for part in value:
            yield from _variables(part)
    elif isinstance(value, dict):
        named = value.get("api_key_env")
        if isinstance(named, str):
            yield named
        yield from _variables(list(value.values()))


def require_credentials(backends: Iterable[Backend], environ: Mapping[str, str]) -> None:
    """Raise ConfigError unless every backend's key variable holds what can be sent as a key, and
    every login file can be read.
    """
    problems = Problems()
    for backend in backends:
        login = backend.agent.login_file if backend.agent else None
        if backend.agent and login and not (login.is_file() and os.access(login, os.R_OK)):
            problems.add(
                None,
                f"backend {backend.name!r} needs a login: {str(login)!r} is not a file that can be "
                f"read; log in with {backend.agent.program!r}, or give another as login_file",
            )
        for variable in backend.key_variables:
            fault = _fault_of_key(environ.get(variable, ""))
            if fault is not None:
                problems.add(
                    None,
                    f"backend {backend.name!r} needs a key: the environment variable {variable!r} "
                    f"{fault}; `export {variable}=…`",
                )
    problems.raise_any(ConfigError)


def _fault_of_key(key: str) -> str | None:
    """Say why a key cannot be sent, without showing it."""
    if not key.strip():
        return "is blank" if key else "is not set"
    if not (key.isascii() and key.isprintable()) or " " in key:
        return "holds a space, a line end or another character that no key has"
    return None


def require_prices(
    backends: Iterable[Backend], *, max_usd: float | None, prices: PriceBook | None = None
) -> None:
    """Raise ConfigError if money is limited but a backend's price is unknown."""
    if max_usd is not None:
        (prices or PriceBook()).require(
            backends,
            because=f"budget.max_usd is {max_usd:g}",
            otherwise="remove budget.max_usd",
        )


class _Resolved(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    backends: dict[str, Backend]


def dump_catalogue(backends: Mapping[str, Backend]) -> str:
    """Write resolved backends as JSON, for worker processes; it holds no secret."""
    content: dict[str, Any] = _Resolved(backends=dict(backends)).model_dump(mode="json")
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def load_resolved(path: Path) -> dict[str, Backend]:
    """Read what `dump_catalogue` wrote."""
    text = read_text(path, what="a resolved backend catalogue", error=ConfigError)
    try:
        return _Resolved.model_validate_json(text).backends
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, details["loc"])) for details in error.errors())
        raise ConfigError(
            f"{path}: is not a resolved backend catalogue (see {fields or 'its start'}); "
            "write it anew with dump_catalogue"
        ) from None
