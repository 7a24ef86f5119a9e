"""Runs: their logs, ledgers and owners, and the doorbell that says one has news."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from skillopt.state.ports.lead import Lead


@dataclass(frozen=True)
class LogEntry:
    """One event of a run: its number (from 1), the server's time, and the event as JSON."""

    seq: int
    at: float
    event: str


@dataclass(frozen=True)
class RunInfo:
    run: str
    #: Free fields written at creation (name, plan hash, store …).
    meta: Mapping[str, str]
    status: str
    version: int
    created_at: float


class Runs(Protocol):
    def create(
        self, run: str, *, meta: Mapping[str, str], events: Sequence[str], status: str
    ) -> bool:
        """Create a run with its first events; False (and no change) if it exists.

        Raises QuotaExceeded if the owner that `meta` names may have no further open run.
        """
        ...

    def info(self, run: str) -> RunInfo | None: ...

    def all(self) -> list[RunInfo]:
        """Every run, newest first."""
        ...

    def open_runs(self) -> list[str]:
        """Runs that a coordinator should look after."""
        ...

    def lead(self, run: str, owner: str) -> Lead | None:
        """Take or renew the ownership of a run; None while somebody else holds it.

        A new holder gets a higher fence. Renewing keeps the fence.
        """
        ...

    def leaders(self, runs: Sequence[str]) -> dict[str, str]:
        """Give the owner of the present lead of each run that has one: for people only."""
        ...

    def resign(self, lead: Lead) -> None:
        """Give the ownership up at once (if it is still ours)."""
        ...

    def step(
        self, lead: Lead, *, version: int, events: Sequence[str], status: str, open: bool
    ) -> int:
        """Append events: the only way a run changes. Returns the new version.

        `version` is the number of events already in the log. `open` says whether the run still
        needs a coordinator. Raises Fenced (fence or owner differ), StaleVersion, or (for a run
        that was not open and shall be) QuotaExceeded.
        """
        ...

    def log(self, run: str, *, after: int = 0) -> list[LogEntry]: ...

    def ledger(self, run: str) -> dict[str, str]:
        """Job -> ledger line (JSON), of every job whose result this run has seen."""
        ...

    def show_view(self, run: str, view: str) -> None:
        """Publish what the run is doing right now, for people; it expires by itself."""
        ...

    def view(self, run: str) -> str | None: ...


class Doorbell(Protocol):
    """Hints that a run has news. Losing one costs at most a tick."""

    def wait(self, run: str, cursor: str, *, timeout_s: float) -> str:
        """Wait until something rings after `cursor` ("" = now) or time is up; returns the new
        cursor.
        """
        ...

    def ring(self, run: str) -> None: ...
