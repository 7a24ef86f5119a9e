"""Live workers, in memory."""

from __future__ import annotations

from skillopt.state.memory.tables import Tables
from skillopt.state.ports import WorkerInfo


class MemoryFleet:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def announce(self, info: WorkerInfo) -> None:
        with self._tables.changed:
            self._tables.fleet.put(_name(info), info, self._tables.timing.worker_ttl_s)

    def retire(self, info: WorkerInfo) -> None:
        with self._tables.changed:
            self._tables.fleet.drop(_name(info))

    def workers(self) -> list[WorkerInfo]:
        with self._tables.changed:
            infos = self._tables.fleet.values()
        return sorted(infos, key=lambda info: (info.backend, info.worker))

    def announce_coordinator(self, name: str) -> None:
        with self._tables.changed:
            self._tables.coordinators.put(name, name, self._tables.timing.worker_ttl_s)

    def retire_coordinator(self, name: str) -> None:
        with self._tables.changed:
            self._tables.coordinators.drop(name)

    def coordinators(self) -> list[str]:
        with self._tables.changed:
            return sorted(self._tables.coordinators.values())


def _name(info: WorkerInfo) -> str:
    return f"{info.backend}:{info.worker}"
