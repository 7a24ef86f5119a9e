"""A role of a spec written as a section: `{use: gpt, params: {…}, stages: {merge: {…}}}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skillopt.config.origins import KeyPath, Problems, dotted
from skillopt.config.suggest import did_you_mean
from skillopt.config.translate import unknown_key
from skillopt.config.yaml_source import Document
from skillopt.domain.jobs import OPTIMIZE_STAGES, OptimizeStage
from skillopt.domain.usage import ROLES, Role

MODEL = "model"
USE, PARAMS, STAGES = "use", "params", "stages"
#: Words that stand for several stages.
STAGE_GROUPS: dict[str, tuple[OptimizeStage, ...]] = {
    "reflect": ("reflect_failure", "reflect_success", "reflect_contrast")
}
_NAME_IT = "name a backend of the catalogue, e.g. `use: sim`"


@dataclass(frozen=True)
class RoleSection:
    """What is written for one role; its parameters are not looked at yet."""

    #: None: the backend that plays the role if none is named.
    use: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    #: By the name that is written, a stage's or a group's.
    stages: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read_sections(document: Document, problems: Problems) -> dict[Role, RoleSection]:
    """Give the roles that are written as sections; what is wrong with their form is added."""
    written = document.data.get(MODEL)
    if not isinstance(written, dict):
        return {}
    return {
        role: _SectionReader(document, problems, role).read(written[role])
        for role in ROLES
        if isinstance(written.get(role), dict)
    }


def name_as_section(below: Document, above: Mapping[str, Any]) -> Document:
    """Write the names of roles as sections where `above` has a section to put on top of them.

    So a layer can change the parameters of a role whose backend another layer names.
    """
    named, wanted = below.data.get(MODEL), above.get(MODEL)
    if not isinstance(named, dict) or not isinstance(wanted, dict):
        return below
    roles, origins = dict(named), dict(below.origins)
    for role in ROLES:
        if isinstance(named.get(role), str) and isinstance(wanted.get(role), dict):
            roles[role] = {USE: named[role]}
            origins[MODEL, role, USE] = below.origin((MODEL, role))
    return Document(below.file, {**below.data, MODEL: roles}, origins)


@dataclass(frozen=True)
class _SectionReader:
    document: Document
    problems: Problems
    role: Role

    def read(self, section: Mapping[str, Any]) -> RoleSection:
        known = [USE, PARAMS, STAGES] if self.role == "optimizer" else [USE, PARAMS]
        for key in section:
            if key == STAGES and key not in known:
                self._fault((key,), "is not known: only the optimizer has stages; remove it")
            elif key not in known:
                path = self._path((key,))
                self.problems.add(self.document.origin(path), unknown_key(dotted(path), key, known))
        stages = self._mapping(section.get(STAGES), (STAGES,)) if STAGES in known else {}
        return RoleSection(
            self._use(section.get(USE)),
            self._mapping(section.get(PARAMS), (PARAMS,)),
            {name: self._stage(name, written) for name, written in stages.items()},
        )

    def _use(self, name: object) -> str | None:
        if name is None:
            if self.role == "target":
                self._fault((USE,), f"is missing; {_NAME_IT}")
            return None
        if not isinstance(name, str) or not name:
            self._fault((USE,), f"{name!r} is not the name of a backend; {_NAME_IT}")
            return None
        return name

    def _stage(self, name: str, written: object) -> Mapping[str, Any]:
        if name not in OPTIMIZE_STAGES and name not in STAGE_GROUPS:
            known = [*OPTIMIZE_STAGES, *STAGE_GROUPS]
            self._fault((STAGES, name), f"is not a stage; {did_you_mean(name, known, 'stages')}")
            return {}
        return self._mapping(written, (STAGES, name))

    def _mapping(self, written: object, below: KeyPath) -> Mapping[str, Any]:
        if written is None:  # a heading whose lines are all commented out
            return {}
        if isinstance(written, dict):
            return written
        self._fault(below, f"{written!r} is not a section; write it like `{{temperature: 0}}`")
        return {}

    def _path(self, below: KeyPath) -> KeyPath:
        return (MODEL, self.role, *below)

    def _fault(self, below: KeyPath, text: str) -> None:
        path = self._path(below)
        joint = " " if text.startswith("is ") else ": "
        self.problems.add(self.document.origin(path), f"{dotted(path)}{joint}{text}")
