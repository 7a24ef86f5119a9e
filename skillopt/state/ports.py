"""What the parts share, as Protocols. Two adapters implement each: `memory` and `redis`.

Every operation that decides something is atomic. Only the adapter's own clock (Redis TIME)
decides leases, holds and deadlines. Every duration comes from the `Timing` the adapter was built
with. An adapter that cannot reach its store raises `StateUnavailable`; a call that raised it may
or may not have taken effect, and every operation may be repeated safely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from skillopt.domain.usage import Role

Lane = Literal["normal", "quarantine"]

#: The largest number of jobs one call of `want`, `renew` or `commit` may name.
MAX_JOBS_PER_CALL = 500


@dataclass(frozen=True)
class Lead:
    """Proof of owning a run: a fence that only grows, and the owner's own nonce."""

    run: str
    owner: str
    fence: int


# --- jobs: the coordinator's side -------------------------------------------------------------


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

    def unwant(self, lead: Lead, jobs: Sequence[str]) -> None:
        """Stop waiting for jobs; a worker that finds no waiter left abandons its work."""
        ...

    def retry(self, lead: Lead, jobs: Sequence[str]) -> None:
        """Forget holds, rounds, lost claims and deaths of jobs, so that they are sent anew."""
        ...


# --- jobs: the worker's side ------------------------------------------------------------------


class ClaimStatus(StrEnum):
    RUN = "run"  # yours: run it
    DONE = "done"  # there is a result already
    BUSY = "busy"  # another worker is on it
    QUARANTINED = "quarantined"  # it lost too many workers to run in this lane
    DEAD = "dead"  # and in quarantine too
    UNKNOWN = "unknown"  # nobody described this job, or its spec expired
    UNWANTED = "unwanted"  # nobody waits for it any more


@dataclass(frozen=True)
class Claim:
    status: ClaimStatus
    spec: bytes = b""
    #: Calls that earlier claims made and lost; they are paid again now.
    repaid_calls: int = 0


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
        """Ask to run a job. RUN takes the lease and counts a claim and the run's execution."""
        ...

    def renew(self, leases: Mapping[str, str]) -> dict[str, RenewStatus]:
        """Extend leases, given as job -> owner."""
        ...

    def release(
        self, job: str, *, owner: str, delay_s: float, reason: str, drop_run: str | None = None
    ) -> bool:
        """Give a job back unharmed: its claim is not counted, every waiter is told.

        `reason` is "<code>: <text>"; a reason whose code is not "draining" counts one round. The
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


# --- results and blobs ------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredResult:
    line: str
    body: str
    receipt: str


class Results(Protocol):
    def get(self, jobs: Sequence[str]) -> dict[str, StoredResult]:
        """Read results; a job without one is absent. Renews their TTL."""
        ...

    def forget(self, lead: Lead, jobs: Sequence[str]) -> None:
        """Remove results and this run's ledger lines of them, so that they are run again."""
        ...

    def of_skill(self, skill: str) -> list[str]:
        """Job ids of every result obtained with a document."""
        ...


class Blobs(Protocol):
    """Content-addressed bytes: the key is the sha256 of the content."""

    def put(self, contents: Sequence[bytes]) -> list[str]:
        """Store contents (or renew them) and return their hashes."""
        ...

    def get(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """Read blobs; a missing or damaged one is absent. Renews their TTL."""
        ...


# --- runs -------------------------------------------------------------------------------------


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
        """Create a run with its first events; False (and no change) if it exists."""
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

    def resign(self, lead: Lead) -> None:
        """Give the ownership up at once (if it is still ours)."""
        ...

    def step(
        self, lead: Lead, *, version: int, events: Sequence[str], status: str, open: bool
    ) -> int:
        """Append events: the only way a run changes. Returns the new version.

        `version` is the number of events already in the log. `open` says whether the run still
        needs a coordinator. Raises Fenced (fence or owner differ) or StaleVersion.
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


# --- money, throttles, fleet ------------------------------------------------------------------


@dataclass(frozen=True)
class Caps:
    """A run's budget; None means unlimited."""

    calls: int | None = None
    tokens: int | None = None
    micro_usd: int | None = None


@dataclass(frozen=True)
class Amount:
    calls: int = 0
    tokens: int = 0
    micro_usd: int = 0


@dataclass(frozen=True)
class Spend:
    """What a run has spent. `unconfirmed` are calls whose worker vanished: counted at their
    estimate. `refused` names the cap that refused a call, "" if none did.
    """

    calls: Mapping[Role, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0
    reserved: Amount = Amount()
    unconfirmed: Amount = Amount()
    executions: int = 0
    repaid_calls: int = 0
    refused: str = ""


class Budgets(Protocol):
    def set_caps(self, run: str, caps: Caps) -> None:
        """Set (or raise) a run's caps; clears `refused`."""
        ...

    def reserve(
        self, run: str, reservation: str, *, job: str, role: Role, estimate: Amount
    ) -> str | None:
        """Reserve one call before it is made. None if granted, else the cap that refuses it
        ("calls", "tokens" or "usd"). Lapsed reservations are first settled as unconfirmed.
        Repeating a granted reservation changes nothing.
        """
        ...

    def renew(self, run: str, reservations: Sequence[str]) -> None:
        """Keep reservations of calls still in flight from lapsing."""
        ...

    def settle(
        self, run: str, reservation: str, *, input_tokens: int, output_tokens: int, micro_usd: int
    ) -> None:
        """Replace a reservation by what the call really took. Settling twice counts once; a
        lapsed reservation settled late moves from unconfirmed to spent.
        """
        ...

    def spend(self, run: str) -> Spend: ...


class Holds(Protocol):
    """Everybody obeys a Retry-After: no call on a held credential before its time."""

    def hold(self, credential: str, *, for_s: float) -> None:
        """Hold a credential; a longer hold already in force stays."""
        ...

    def remaining_s(self, credential: str) -> float:
        """Seconds until calls are allowed; 0 if they are now."""
        ...


@dataclass(frozen=True)
class WorkerInfo:
    """A live worker, as it announces itself. It holds no secret."""

    worker: str
    backend: str
    fingerprint: str
    capacity: int
    lane: Lane = "normal"
    version: str = ""


class Fleet(Protocol):
    def announce(self, info: WorkerInfo) -> None:
        """Say that a worker is alive; it expires by itself."""
        ...

    def retire(self, info: WorkerInfo) -> None: ...

    def workers(self) -> list[WorkerInfo]: ...


@dataclass(frozen=True)
class State:
    """All ports of one adapter."""

    board: JobBoard
    claims: JobClaims
    results: Results
    blobs: Blobs
    runs: Runs
    doorbell: Doorbell
    budgets: Budgets
    holds: Holds
    fleet: Fleet
