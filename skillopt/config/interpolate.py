"""`${NAME}` and `${NAME:-default}` in the catalogue's texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from skillopt.config.origins import KeyPath, Problems, dotted
from skillopt.config.yaml_source import Document

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)


def variables_in(text: str, environ: Mapping[str, str]) -> list[str]:
    """Name the variables that a text takes its value from, those with a default only if set."""
    names = (match.group(1) for match in _REFERENCE.finditer(text))
    return [name for name in dict.fromkeys(names) if environ.get(name)]


class Interpolation:
    """Replaces references by variables; an unset one, or one that is a secret, is a problem."""

    def __init__(self, environ: Mapping[str, str], document: Document, problems: Problems) -> None:
        self._environ = environ
        self._document = document
        self._problems = problems

    def apply(self, value: Any, path: KeyPath) -> Any:  # noqa: ANN401 - any YAML value
        if isinstance(value, str):
            return _REFERENCE.sub(lambda match: self._variable(match, path), value)
        if isinstance(value, dict):
            return {key: self.apply(part, (*path, key)) for key, part in value.items()}
        if isinstance(value, list):
            return [self.apply(part, (*path, place)) for place, part in enumerate(value)]
        return value

    def _variable(self, match: re.Match[str], path: KeyPath) -> str:
        name, default = match.group(1), match.group(2)
        if _SECRET.search(name):
            self._problems.add(
                self._document.origin(path),
                f"{dotted(path)}: ${{{name}}} looks like a secret, which is never copied into a "
                f"run; let the worker read it with `api_key_env: {name}`",
            )
            return ""
        value = self._environ.get(name) or default
        if value is None:
            self._problems.add(
                self._document.origin(path),
                f"{dotted(path)}: the environment variable {name!r} is not set; "
                f"`export {name}=…`, or give a default with ${{{name}:-default}}",
            )
            return ""
        return value
