"""What an owner may have at once: open runs, and jobs in flight on a backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class OwnerQuota:
    """The limits of one owner, None where there is none, and the runs that are open now."""

    owner: str
    max_runs: int | None = None
    max_window: int | None = None
    #: Runs that are queued or running; paused and ended ones do not count.
    runs: int = 0


class Quotas(Protocol):
    """`Runs.create` and `Runs.step` hold owners to `max_runs`, fair shares to `max_window`."""

    def set(self, owner: str, *, max_runs: int | None, max_window: int | None) -> None:
        """Set both limits of an owner; None removes one. Runs that are open stay open."""
        ...

    def get(self, owner: str) -> OwnerQuota: ...

    def all(self) -> list[OwnerQuota]:
        """Give every owner that has a limit or an open run, by name."""
        ...
