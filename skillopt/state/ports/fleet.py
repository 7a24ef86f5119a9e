"""Who is alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from skillopt.state.ports.board import Lane


@dataclass(frozen=True)
class WorkerInfo:
    """A live worker, as it announces itself. It holds no secret."""

    worker: str
    backend: str
    fingerprint: str
    capacity: int
    lane: Lane = "normal"
    version: str = ""
    #: Hashes of what its calls share with others (see `ThrottleScope`).
    credential: str = ""
    endpoint: str = ""
    #: rpm, tpm, concurrency and min_concurrency of its catalogue, where there are any.
    limits: Mapping[str, int] = field(default_factory=dict)


class Fleet(Protocol):
    def announce(self, info: WorkerInfo) -> None:
        """Say that a worker is alive; it expires by itself."""
        ...

    def retire(self, info: WorkerInfo) -> None: ...

    def workers(self) -> list[WorkerInfo]: ...

    def announce_coordinator(self, name: str) -> None:
        """Say that a coordinator is alive; it expires by itself."""
        ...

    def retire_coordinator(self, name: str) -> None: ...

    def coordinators(self) -> list[str]:
        """Name the live coordinators, in order; one that has no run is among them."""
        ...
