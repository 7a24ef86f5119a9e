"""The backends of the catalogue as they resolve here, one by one: a broken entry hides no other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.config.catalogue import FILE_NAME, Catalogue, open_catalogue
from skillopt.config.layers import load_layers
from skillopt.config.origins import Problems, unusable_path
from skillopt.config.packaged import configs_dir
from skillopt.config.published import PublishRevision, published
from skillopt.config.role_params import ParamsReader
from skillopt.config.role_section import RoleSection
from skillopt.config.roles import UseReader, backend_names
from skillopt.config.schema import ParsedSpec, parse_spec
from skillopt.domain.backend import Backend, BackendUse, Limits
from skillopt.domain.usage import Role
from skillopt.errors import ConfigError


@dataclass(frozen=True)
class Listed:
    """One name of the catalogue: the backend it stands for, or what is wrong with it."""

    name: str
    #: File and line.
    origin: str
    #: It comes with the package, and nobody here has written it.
    packaged: bool
    backend: Backend | None
    error: str = ""
    #: The roles that it plays in the spec, and how they use it (if it resolves).
    roles: tuple[Role, ...] = ()
    uses: Mapping[Role, BackendUse] = field(default_factory=dict)

    def variants(self) -> list[tuple[str, Backend]]:
        """Give every way in which the spec calls it, each once, with a name for people."""
        if self.backend is None:
            return []
        found: dict[str, tuple[str, Backend]] = {}
        for role, use in self.uses.items():
            ways = [(role, use), *((f"{role}, {stage}", way) for stage, way in use.stages.items())]
            for words, way in ways:
                called = self.backend.using(way.params)
                found.setdefault(called.fingerprint, (f"{self.name} ({words})", called))
        if len(found) > 1:
            return list(found.values())
        only = next(iter(found.values()), (self.name, self.backend))
        return [(self.name, only[1])]


@dataclass(frozen=True)
class Inventory:
    backends: Sequence[Listed]
    #: The money a run of the spec may spend; None without a spec or a limit.
    max_usd: float | None = None
    #: The variables that the catalogue names for keys, also of backends that are not listed.
    key_variables: frozenset[str] = frozenset()

    @property
    def limits(self) -> dict[str, Limits]:
        """The shared limits of each, by name; of one that does not resolve, none."""
        return {one.name: one.backend.limits if one.backend else Limits() for one in self.backends}


@dataclass(frozen=True)
class InventoryReader:
    """Reads the catalogue as a run started here would."""

    environ: Mapping[str, str]
    publish_revision: PublishRevision

    def read(
        self,
        spec: Path | None,
        backends_file: Path | None,
        *,
        only: Collection[str] = (),
        everything: bool = False,
    ) -> Inventory:
        """Give the backends of the roles of a spec; without one, all but the packaged ones.

        `only` names others, `everything` leaves nothing out. Raises ConfigError if a file cannot
        be read, the spec is wrong or a name is not known.
        """
        if spec is None:
            catalogue = open_catalogue(self.environ, backends_file=backends_file)
            names = [
                name for name in catalogue.names() if everything or not _packaged(catalogue, name)
            ]
            listed = self._all_listed(catalogue, _only(catalogue, only) or names)
            return Inventory(listed, key_variables=catalogue.key_variables())
        parsed = _parse(spec)
        catalogue = open_catalogue(self.environ, spec=parsed.document, backends_file=backends_file)
        for role, name in _roles(parsed).items():
            if name not in catalogue.names():  # raises, with who asked for it and what there is
                where = parsed.document.origin(("model", role))
                catalogue.resolve(name, where=where, key=f"model.{role}")
        names = catalogue.names() if everything else list(dict.fromkeys(_roles(parsed).values()))
        listed = self._all_listed(catalogue, _only(catalogue, only) or names)
        return Inventory(
            self._used(parsed, listed), parsed.spec.budget.max_usd, catalogue.key_variables()
        )

    def _all_listed(self, catalogue: Catalogue, names: Collection[str]) -> list[Listed]:
        return [self._listed(catalogue, name) for name in names]

    def _listed(self, catalogue: Catalogue, name: str) -> Listed:
        origin, packaged = str(catalogue.origin(name)), _packaged(catalogue, name)
        try:
            backend = published(catalogue.resolve(name), self.publish_revision)
        except ConfigError as error:
            return Listed(name, origin, packaged, None, str(error))
        return Listed(name, origin, packaged, backend)

    def _used(self, parsed: ParsedSpec, listed: Sequence[Listed]) -> list[Listed]:
        problems = Problems()
        reader = UseReader(ParamsReader(parsed.document, self.environ, problems))
        played = _roles(parsed)
        found = []
        for one in listed:
            roles = tuple(role for role, name in played.items() if name == one.name)
            uses = {
                role: reader.read(role, one.backend, parsed.roles.get(role, RoleSection()))
                for role in roles
                if one.backend is not None
            }
            found.append(replace(one, roles=roles, uses=uses))
        problems.raise_any(ConfigError)
        return found


def _parse(spec: Path) -> ParsedSpec:
    try:
        return parse_spec(load_layers(spec))
    except OSError as error:
        raise ConfigError(unusable_path(error)) from error


def _roles(parsed: ParsedSpec) -> dict[Role, str]:
    """Name the backend of each role that the spec names, or that takes part in every run."""
    judged = parsed.spec.model.judge is not None or "judge" in parsed.roles
    names = backend_names(parsed.spec)
    return {role: name for role, name in names.items() if role != "judge" or judged}


def _packaged(catalogue: Catalogue, name: str) -> bool:
    origin = catalogue.origin(name)
    return origin is not None and origin.source == str(configs_dir() / FILE_NAME)


def _only(catalogue: Catalogue, names: Collection[str]) -> list[str]:
    known = catalogue.names()
    for name in names:
        if name not in known:
            raise ConfigError(
                f"--backend: no backend is called {name!r}; known backends: {', '.join(known)}"
            )
    return list(dict.fromkeys(names))
