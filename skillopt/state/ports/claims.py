"""The worker's side of the jobs: claiming, renewing, giving back, committing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from skillopt.state.ports.board import Lane

#: Reason codes for giving a job back that say nothing about the job or its backend: a worker
#: stops, or is of another version than the run needs, whoever was to pay cannot, or there are more
#: jobs than the limits of the backend, or a budget, let through at once.
NO_ROUND = frozenset({"budget", "budget_held", "draining", "incompatible", "throttled"})


class ClaimStatus(StrEnum):
    RUN = "run"  # yours: run it
    DONE = "done"  # there is a result already
    BUSY = "busy"  # another worker is on it
    QUARANTINED = "quarantined"  # it lost too many workers to run in this lane
    DEAD = "dead"  # and in quarantine too
    UNKNOWN = "unknown"  # nobody described this job, or its spec expired
    UNWANTED = "unwanted"  # nobody waits for it any more, or not the run that was to pay


@dataclass(frozen=True)
class Claim:
    status: ClaimStatus
    spec: bytes = b""
    #: Calls that earlier claims made and lost; they are paid again now.
    repaid_calls: int = 0
    #: Which claim of the job this is since it last succeeded, from 1 on.
    attempt: int = 1
    #: From the message's sending to this claim; None if its sending is not known.
    waited_s: float | None = None


class RenewStatus(StrEnum):
    OK = "ok"
    LOST = "lost"  # somebody else may be running it: do not spend more on it
    UNWANTED = "unwanted"  # no waiter left: `abandon` it


@dataclass(frozen=True)
class Finished:
    """A result to commit. `skill` indexes it under the document it was obtained with."""

    job: str
    line: str
    body: str
    receipt: str
    skill: str | None = None


class JobClaims(Protocol):
    """The worker's side of the jobs. `owner` is unique to one claim."""

    def claim(self, job: str, *, run: str, owner: str, lane: Lane) -> Claim:
        """Ask to run a job. RUN takes the lease and counts a claim and the run's execution.

        `run` pays. If it waits for the job no more, while others do, the claim is UNWANTED: they
        are told, and whichever of them sends the job again pays for it.
        """
        ...

    def renew(self, leases: Mapping[str, str]) -> dict[str, RenewStatus]:
        """Extend leases, given as job -> owner."""
        ...

    def release(
        self, job: str, *, owner: str, delay_s: float, reason: str, drop_run: str | None = None
    ) -> bool:
        """Give a job back unharmed: its claim is not counted, every waiter is told.

        `reason` is "<code>: <text>"; one round counts unless its code is in NO_ROUND. The
        job is sent again after `delay_s`. `drop_run` stops waiting (its budget refused). False
        if the lease was no longer ours.
        """
        ...

    def abandon(self, job: str, *, owner: str) -> bool:
        """Drop the lease if it is ours and nobody waits; True if so. A waiter that came in
        between keeps the work going.
        """
        ...

    def commit(self, finished: Sequence[Finished], *, owner: str) -> list[bool]:
        """Write results: the first writer of each wins (True), waiters are told, the lease is
        dropped if it is ours, counters and holds of the job are forgotten.
        """
        ...
