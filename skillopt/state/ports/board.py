"""The coordinator's side of the jobs: wanting them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from skillopt.state.ports.lead import Lead

Lane = Literal["normal", "quarantine"]

#: The largest number of jobs one call of `want`, `renew` or `commit` may name.
MAX_JOBS_PER_CALL = 500


class WantStatus(StrEnum):
    HIT = "hit"  # there is a result; it is in the ledger now
    SEND = "send"  # send a message for it now, on `lane`
    QUEUED = "queued"  # a message is under way, not yet claimed
    LEASED = "leased"  # a worker is on it
    HELD = "held"  # given back; not before `delay_s` from now
    DEAD = "dead"  # its quarantine claims are used up
    LATER = "later"  # no room in the window; nothing was registered


@dataclass(frozen=True)
class Want:
    job: str
    spec: bytes


@dataclass(frozen=True)
class WantAnswer:
    job: str
    status: WantStatus
    #: The result's ledger line (JSON) on a hit.
    line: str | None = None
    lane: Lane = "normal"
    delay_s: float = 0.0
    #: Why it was given back or died: "<code>: <text>".
    reason: str = ""
    #: How often it was given back for infrastructure reasons since its last success.
    rounds: int = 0


class JobBoard(Protocol):
    """The coordinator's side of the jobs."""

    def want(self, lead: Lead, wants: Sequence[Want], *, room: int) -> list[WantAnswer]:
        """Register interest in jobs, in order; answers are in the same order.

        A job with a result is a HIT: its line is written to the run's ledger (unless the ledger
        already has one for the job, which then is the answer). Of the others, the first `room`
        are registered: the run becomes a waiter, the spec and the waiters get their TTL anew, and
        the answer says whether a message must be sent. At most one message is under way for a
        job however many runs want it. Sent again are: a job claimed since it was sent that has
        neither lease nor result; a held job whose time has come; a message unclaimed for
        `resend_s`, doubling each time. After `max_lost_claims` lost claims the lane is
        "quarantine". Raises Fenced unless `lead` (fence and owner) is the present lead.
        """
        ...

    def unwant(self, lead: Lead, jobs: Sequence[str], *, keep_leased: bool = False) -> None:
        """Stop waiting for jobs; a worker that finds no waiter left abandons its work.

        `keep_leased`: those that a worker is at this moment stay wanted, so that what is paid
        for comes to its end.
        """
        ...

    def retry(self, lead: Lead, jobs: Sequence[str]) -> None:
        """Forget holds, rounds, lost claims and deaths of jobs, so that they are sent anew."""
        ...
