"""Who is alive."""

from __future__ import annotations

from dataclasses import dataclass
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


class Fleet(Protocol):
    def announce(self, info: WorkerInfo) -> None:
        """Say that a worker is alive; it expires by itself."""
        ...

    def retire(self, info: WorkerInfo) -> None: ...

    def workers(self) -> list[WorkerInfo]: ...
