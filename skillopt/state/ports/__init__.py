"""What the parts share, as Protocols. Two adapters implement each: `memory` and `redis`.

Every operation that decides something is atomic. Only the adapter's own clock (Redis TIME)
decides leases, holds and deadlines. Every duration comes from the `Timing` the adapter was built
with. An adapter that cannot reach its store raises `StateUnavailable`; a call that raised it may
or may not have taken effect, and every operation may be repeated safely.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.state.ports.archive import Archive, Paid, RemovedRun
from skillopt.state.ports.board import (
    MAX_JOBS_PER_CALL,
    JobBoard,
    Lane,
    Want,
    WantAnswer,
    WantStatus,
)
from skillopt.state.ports.budgets import (
    Amount,
    Budgets,
    Cap,
    Caps,
    Refusal,
    Scope,
    SharedBudget,
    Spend,
)
from skillopt.state.ports.cache import Cache, CacheEntry, Removal
from skillopt.state.ports.claims import (
    NO_ROUND,
    Claim,
    ClaimStatus,
    Finished,
    JobClaims,
    RenewStatus,
)
from skillopt.state.ports.dead import Dead, TroubledJob
from skillopt.state.ports.fleet import Fleet, WorkerInfo
from skillopt.state.ports.lead import Lead
from skillopt.state.ports.requests import PendingRequest, Requests
from skillopt.state.ports.results import Blobs, Results, StoredResult
from skillopt.state.ports.runs import Doorbell, LogEntry, RunInfo, Runs
from skillopt.state.ports.server import REQUIRED_VERSION, Server, ServerFacts
from skillopt.state.ports.throttle import (
    Admission,
    CallEnd,
    EndKind,
    Standing,
    Throttle,
    ThrottleScope,
)

__all__ = [
    "MAX_JOBS_PER_CALL",
    "NO_ROUND",
    "REQUIRED_VERSION",
    "Admission",
    "Amount",
    "Archive",
    "Blobs",
    "Budgets",
    "Cache",
    "CacheEntry",
    "CallEnd",
    "Cap",
    "Caps",
    "Claim",
    "ClaimStatus",
    "Dead",
    "Doorbell",
    "EndKind",
    "Finished",
    "Fleet",
    "JobBoard",
    "JobClaims",
    "Lane",
    "Lead",
    "LogEntry",
    "Paid",
    "PendingRequest",
    "Refusal",
    "Removal",
    "RemovedRun",
    "RenewStatus",
    "Requests",
    "Results",
    "RunInfo",
    "Runs",
    "Scope",
    "Server",
    "ServerFacts",
    "SharedBudget",
    "Spend",
    "Standing",
    "State",
    "StoredResult",
    "Throttle",
    "ThrottleScope",
    "TroubledJob",
    "Want",
    "WantAnswer",
    "WantStatus",
    "WorkerInfo",
]


@dataclass(frozen=True)
class State:
    """All ports of one adapter."""

    board: JobBoard
    claims: JobClaims
    results: Results
    blobs: Blobs
    cache: Cache
    runs: Runs
    doorbell: Doorbell
    budgets: Budgets
    throttle: Throttle
    fleet: Fleet
    server: Server
    dead: Dead
    requests: Requests
    archive: Archive
