"""Limits of backends that a person set, in memory."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.domain.backend import LimitName
from skillopt.state.memory.tables import Tables


class MemorySetLimits:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def set(self, backend: str, changes: Mapping[LimitName, int | None]) -> None:
        with self._tables.changed:
            limits = self._tables.set_limits.setdefault(backend, {})
            for name, value in changes.items():
                if value is None:
                    limits.pop(name, None)
                else:
                    limits[name] = value

    def of(self, backend: str) -> dict[LimitName, int]:
        with self._tables.changed:
            return dict(self._tables.set_limits.get(backend, {}))

    def all(self) -> dict[str, dict[LimitName, int]]:
        with self._tables.changed:
            found = sorted(self._tables.set_limits.items())
            return {backend: dict(limits) for backend, limits in found if limits}
