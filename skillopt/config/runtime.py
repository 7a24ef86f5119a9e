"""Durations of a process from its environment.

`SKILLOPT_TIMING` names a profile, and `SKILLOPT_TIMING_<FIELD>` overrides one field, so that
tests and operators scale time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from skillopt.domain.timing import EMBEDDED, Timing
from skillopt.errors import ConfigError

PROFILES = {"team": Timing(), "embedded": EMBEDDED}
T = TypeVar("T")


def timing(environ: Mapping[str, str]) -> Timing:
    name = environ.get("SKILLOPT_TIMING", "team")
    if name not in PROFILES:
        raise ConfigError(f"SKILLOPT_TIMING is {name!r}; give one of {', '.join(sorted(PROFILES))}")
    return override(PROFILES[name], "SKILLOPT_TIMING_", environ)


def override(value: T, prefix: str, environ: Mapping[str, str]) -> T:
    """Replace the numeric fields of a dataclass whose variables are set."""
    changes: dict[str, float | int] = {}
    for field in fields(value):  # type: ignore[arg-type]  # a dataclass instance
        variable = prefix + field.name.upper()
        raw = environ.get(variable)
        if raw is None:
            continue
        changes[field.name] = _number(variable, raw, type(getattr(value, field.name)))
    changed: Any = replace(value, **changes)  # type: ignore[type-var]
    return changed  # type: ignore[no-any-return]


def _number(variable: str, raw: str, kind: type[float | int]) -> float | int:
    try:
        number = kind(raw)
    except ValueError:
        raise ConfigError(f"{variable} is {raw!r}; give a number") from None
    if number <= 0:
        raise ConfigError(f"{variable} is {raw!r}; give a number above 0")
    return number
