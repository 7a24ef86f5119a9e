"""The parameters that a role, or a stage of the optimizer, changes of its backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skillopt.config.anthropic_entry import check_messages_params, messages_params
from skillopt.config.entry_checks import check_params
from skillopt.config.interpolate import Interpolation
from skillopt.config.origins import KeyPath, Problems, dotted
from skillopt.config.role_section import PARAMS
from skillopt.config.translate import report
from skillopt.config.yaml_source import Document
from skillopt.domain.backend import AGENT_KINDS, Backend, Params
from skillopt.errors import ConfigError

#: Parameters that are mappings themselves: they are changed by their own keys.
_MAPPINGS = ("extra_body", "extra_headers")

#: Parameters to change, by name; None takes one away, also within a mapping.
Changes = Mapping[str, Any]


@dataclass(frozen=True)
class ParamsReader:
    """Reads changes as a person wrote them; everything wrong with them joins `problems`."""

    document: Document
    environ: Mapping[str, str]
    problems: Problems

    def changed(
        self, backend: Backend, params: Params, written: Mapping[str, Any], path: KeyPath
    ) -> Params:
        """Give parameters with the changes written at `path`, as this kind of backend takes them.

        `${NAME}` stands for a variable, as in the catalogue. If anything is wrong the parameters
        come back as they were.
        """
        # By itself: a group of stages leads here several times with the same problem.
        problems = Problems()
        changes = Interpolation(self.environ, self.document, problems).apply(written, path)
        if not problems:
            self._check_values(changes, path, problems)
        if not problems:
            params = self._fitted(backend, params, changes, path, problems)
        self.problems.attempt(lambda: problems.raise_any(ConfigError))
        return params

    def _check_values(self, changes: Changes, path: KeyPath, problems: Problems) -> None:
        given = {
            name: _without_nulls(value) if isinstance(value, dict) else value
            for name, value in changes.items()
            if value is not None or name not in Params.model_fields
        }
        try:
            Params.model_validate(given, strict=True)
        except ValidationError as error:
            report(error, Params, document=self.document, problems=problems, prefix=path)

    def _fitted(
        self, backend: Backend, params: Params, changes: Changes, path: KeyPath, problems: Problems
    ) -> Params:
        """Apply changes that are right by themselves, as far as this backend takes them."""

        def fault(below: KeyPath, text: str) -> None:
            if below[1] in changes:
                whole: KeyPath = (*path, *below[1:])
                joint = " " if text.startswith(("is ", "would ")) else ": "
                problems.add(self.document.origin(whole), f"{dotted(whole)}{joint}{text}")

        if backend.kind in AGENT_KINDS:
            for name, value in changes.items():
                fault(
                    (PARAMS, name),
                    f"{value!r} cannot be given to backend {backend.name!r}: an agent program "
                    "takes no parameters; remove it, and give `effort` to the backend or use "
                    "another one",
                )
            return params
        changed = apply(params, changes)
        check_params(backend.kind, changed, fault)
        if backend.kind == "anthropic_messages":
            check_messages_params(changed, fault)
            changed = messages_params(changed)
        return params if problems else changed


def apply(params: Params, changes: Changes) -> Params:
    """Put changes on top of parameters, key by key."""
    values = params.model_dump(exclude_none=True)
    for name, value in changes.items():
        if value is None:
            values.pop(name, None)
        else:
            values[name] = _merged(values[name], value) if name in _MAPPINGS else value
    return Params.model_validate(values)


def _merged(own: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    changed = {name.lower() for name in changes}  # the names of headers have no case
    kept = {name: value for name, value in own.items() if name.lower() not in changed}
    return kept | _without_nulls(changes)


def _without_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
