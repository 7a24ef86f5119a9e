"""Which runs tell whom of what happens to them, and what they were told already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class WatchedRun:
    """A run whose news are wanted."""

    #: Who wants them, and which (JSON).
    target: str
    #: Entries of its log that are done with.
    cursor: int
    #: News that are no entry of the log and were told.
    told: frozenset[str] = frozenset()


class Notices(Protocol):
    """For at least once: what is not marked here is told (again)."""

    def watch(self, run: str, target: str, *, cursor: int = 0) -> None:
        """Tell `target` of a run's entries after `cursor`; of a run that is watched already, only
        the target changes.
        """
        ...

    def unwatch(self, run: str) -> None: ...

    def runs(self) -> list[str]:
        """Name every run that is watched, in order."""
        ...

    def get(self, run: str) -> WatchedRun | None: ...

    def take(self, run: str, owner: str) -> bool:
        """Take the telling of a run upon oneself for `lead_s`; False while another does it."""
        ...

    def advance(self, run: str, cursor: int) -> None:
        """Mark the entries of a log up to `cursor` as done with. It never goes back."""
        ...

    def mark(self, run: str, news: str) -> None:
        """Mark news that are no entry of the log as told."""
        ...
