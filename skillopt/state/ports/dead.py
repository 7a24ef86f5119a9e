"""Jobs that went wrong, for people: why, how often, on whose machine; and another chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class TroubledJob:
    """What is known of a job without a result. `died_at` is set on a dead one only."""

    job: str
    #: Why it is dead, else why it was last given back: "<code>: <text>"; "" if it never was.
    reason: str = ""
    died_at: float | None = None
    #: Claims lost since its last success, in the normal lane and in quarantine.
    claims: int = 0
    quarantine_claims: int = 0
    #: How often it was given back for infrastructure reasons.
    rounds: int = 0
    #: Who claimed it last: "<worker>:<claim>"; "" if nobody did, or it is not known any more.
    claimed_by: str = ""
    #: When a message for it was last sent that no worker has claimed since.
    sent_at: float | None = None
    #: Runs that wait for it, in order.
    runs: tuple[str, ...] = ()
    spec: bytes | None = None


class Dead(Protocol):
    """No reading here renews a TTL."""

    def jobs(self) -> list[str]:
        """Name every dead job, in order. The keys are walked through in small steps."""
        ...

    def look(self, jobs: Sequence[str]) -> dict[str, TroubledJob]:
        """Say what is known of jobs, dead or not; one that nothing is known of is absent."""
        ...

    def revive(self, jobs: Sequence[str]) -> None:
        """Forget deaths, holds, rounds and lost claims of jobs and tell the runs that wait.

        Whoever leads those runs may go on doing so: they send the jobs anew if they still want
        them. A job that a worker is at is left alone.
        """
        ...
