"""Whole runs put back and taken away: from their folders, and after their time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from skillopt.domain.usage import Role
from skillopt.state.ports.lead import Lead
from skillopt.state.ports.runs import LogEntry


@dataclass(frozen=True)
class Paid:
    """What a run has spent, as far as receipts tell."""

    calls: Mapping[Role, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0
    estimated_tokens: int = 0


@dataclass(frozen=True)
class RemovedRun:
    keys: int
    #: As the server counts them; 0 if it does not tell.
    bytes: int


class Archive(Protocol):
    def put_ledger(self, run: str, lines: Mapping[str, str]) -> None:
        """Write ledger lines (job -> JSON) of a run; lines that are there stay."""
        ...

    def put_run(
        self,
        run: str,
        *,
        meta: Mapping[str, str],
        entries: Sequence[LogEntry],
        status: str,
        open: bool,
        paid: Paid,
    ) -> bool:
        """Store a run with its whole log, at the times it had; False (no change) if it exists.

        The run's own meter is set to `paid`; owners and teams are not charged.
        """
        ...

    def pin_plan(self, lead: Lead, plan: str) -> None:
        """Say under which hash the run's plan is stored from now on. Raises Fenced."""
        ...

    def remove(self, run: str) -> RemovedRun | None:
        """Remove all that lives as long as a run; None (no change) unless it is finished or
        cancelled and nobody leads it. What it spent stays with its owner and team.
        """
        ...
