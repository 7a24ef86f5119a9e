"""All data of the memory adapter, behind one lock."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from skillopt.domain.backend import LimitName
from skillopt.domain.timing import Timing
from skillopt.domain.usage import Role
from skillopt.errors import Fenced
from skillopt.state.memory.expiring import Clock, Expiring
from skillopt.state.memory.traffic import Traffic
from skillopt.state.ports import (
    Amount,
    Caps,
    DaySpend,
    Lane,
    Lead,
    LogEntry,
    OwnerQuota,
    PendingRequest,
    Refusal,
    Scope,
    StoredResult,
    TokenInfo,
    WatchedRun,
    WorkerInfo,
)


@dataclass
class JobRecord:
    """What is known of a job that has no result yet."""

    #: When its last message was sent, and how many went unclaimed in a row.
    sent: float | None = None
    sends: int = 0
    #: Whether that message has arrived.
    claimed: bool = False
    #: Claims that were neither committed nor given back.
    claims: int = 0
    quarantine_claims: int = 0
    claim_lane: Lane = "normal"
    claimed_by: str = ""
    died_at: float | None = None
    #: When a job that was given back may be sent again, why it was, and how often.
    held_until: float | None = None
    reason: str = ""
    rounds: int = 0
    #: Calls paid since the last claim, and those the last claim found paid.
    calls: int = 0
    repaid: int = 0

    @property
    def all_claims(self) -> int:
        return self.claims + self.quarantine_claims

    def forget_message(self) -> None:
        self.sent, self.sends = None, 0

    def uncount_claim(self) -> None:
        """Take one claim off the counters, and with it its message and its calls."""
        if self.claim_lane == "quarantine":
            self.quarantine_claims = max(0, self.quarantine_claims - 1)
        else:
            self.claims = max(0, self.claims - 1)
        self.forget_message()
        self.claimed, self.claim_lane = False, "normal"
        self.calls = self.repaid = 0


@dataclass(frozen=True)
class Committed:
    result: StoredResult
    owner: str
    skill: str | None
    spec: bytes | None
    made_at: float


@dataclass
class RunRecord:
    meta: dict[str, str]
    status: str
    created_at: float
    #: Runs created at the same moment keep their order.
    number: int
    open: bool = True
    log: list[LogEntry] = field(default_factory=list)


@dataclass
class LeadRecord:
    fence: int = 0
    owner: str | None = None
    until: float = 0.0


@dataclass(frozen=True)
class Reservation:
    role: Role
    estimate: Amount
    #: Who pays beside the run.
    shared: tuple[Scope, ...] = ()
    backend: str = ""
    priced: bool = True


@dataclass
class Meter:
    caps: Caps = field(default_factory=Caps)
    calls: dict[Role, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0
    micro_usd_by_role: dict[Role, int] = field(default_factory=dict)
    estimated_tokens: int = 0
    unpriced_calls: int = 0
    reserved: Amount = field(default_factory=Amount)
    unconfirmed: Amount = field(default_factory=Amount)
    executions: int = 0
    repaid_calls: int = 0
    refused: Refusal | None = None
    #: Who pays beside this run.
    shared: tuple[Scope, ...] = ()
    #: Reservations not yet settled, and when those in force lapse.
    reservations: dict[str, Reservation] = field(default_factory=dict)
    lapses: dict[str, float] = field(default_factory=dict)


class Tables:
    """Every table, the lock that guards them, the clock and the durations."""

    def __init__(self, timing: Timing, clock: Clock) -> None:
        self.timing = timing
        self.clock = clock
        #: Held during every operation; notified by every ring.
        self.changed = threading.Condition(threading.RLock())
        self.specs: Expiring[bytes] = Expiring(clock)
        self.results: Expiring[Committed] = Expiring(clock)
        self.leases: Expiring[str] = Expiring(clock)
        self.jobs: Expiring[JobRecord] = Expiring(clock)
        self.waiters: Expiring[set[str]] = Expiring(clock)
        self.dead: Expiring[str] = Expiring(clock)
        self.skills: Expiring[set[str]] = Expiring(clock)
        self.blobs: Expiring[bytes] = Expiring(clock)
        self.views: Expiring[str] = Expiring(clock)
        self.settled: Expiring[bool] = Expiring(clock)
        self.traffic = Traffic(clock)
        self.fleet: Expiring[WorkerInfo] = Expiring(clock)
        self.coordinators: Expiring[str] = Expiring(clock)
        self.runs: dict[str, RunRecord] = {}
        self.leads: dict[str, LeadRecord] = {}
        self.ledgers: dict[str, dict[str, str]] = {}
        self.meters: dict[str, Meter] = {}
        #: Of owners and teams.
        self.shared_meters: dict[Scope, Meter] = {}
        self.rings: dict[str, int] = {}
        self.requests: Expiring[tuple[PendingRequest, ...]] = Expiring(clock)
        self.request_number = 0
        self.quotas: dict[str, OwnerQuota] = {}
        self.set_limits: dict[str, dict[LimitName, int]] = {}
        self.notices: dict[str, WatchedRun] = {}
        self.telling: Expiring[str] = Expiring(clock)
        #: By day; then by run, owner, team, backend and role.
        self.spending: Expiring[dict[tuple[str, str, str, str, Role], DaySpend]] = Expiring(clock)
        self.tokens: dict[str, TokenInfo] = {}

    @property
    def of_one_run(self) -> tuple[dict[str, Any], ...]:
        """The tables whose entries live as long as their run."""
        return (self.runs, self.leads, self.ledgers, self.meters, self.rings, self.notices)

    def require_lead(self, lead: Lead) -> None:
        """Raise Fenced unless fence and owner are those of the present lead."""
        held = self.leads.get(lead.run)
        if held is None or (held.owner, held.fence) != (lead.owner, lead.fence):
            raise Fenced(
                f"{lead.owner!r} with fence {lead.fence} does not lead run {lead.run!r} any more; "
                "take the lead again"
            )

    def job(self, job: str) -> JobRecord:
        """Give the record of a job, a new one if there is none, and let it live on."""
        record = self.jobs.get(job) or JobRecord()
        self.jobs.put(job, record, self.timing.spec_ttl_s)
        return record

    def waiting(self, job: str) -> set[str]:
        return self.waiters.get(job) or set()

    def meter(self, run: str) -> Meter:
        return self.meters.setdefault(run, Meter())

    def ring(self, run: str) -> None:
        self.rings[run] = self.rings.get(run, 0) + 1
        self.changed.notify_all()

    def ring_waiters(self, job: str) -> None:
        for run in sorted(self.waiting(job)):
            self.ring(run)

    def forget_trouble(self, job: str) -> None:
        """Forget what went wrong with a job; what its calls took is still known."""
        self.dead.drop(job)
        record = self.jobs.get(job)
        if record is not None:
            fresh = JobRecord(
                calls=record.calls,
                repaid=record.repaid,
                claim_lane=record.claim_lane,
                claimed_by=record.claimed_by,
            )
            self.jobs.put(job, fresh, self.timing.spec_ttl_s)

    def bury(self, job: str, record: JobRecord) -> str:
        """Mark a job dead, tell its waiters and give the reason."""
        reason = (
            f"lost: {record.claims} claims were lost, then {record.quarantine_claims} more in "
            "quarantine"
        )
        record.died_at = self.clock()
        self.jobs.put(job, record, self.timing.spec_ttl_s)
        self.dead.put(job, reason, self.timing.spec_ttl_s)
        self.ring_waiters(job)
        return reason
