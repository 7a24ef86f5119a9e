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
from skillopt.state.ports.limits import LIMIT_NAMES, SetLimits
from skillopt.state.ports.notices import Notices, WatchedRun
from skillopt.state.ports.quotas import OwnerQuota, Quotas
from skillopt.state.ports.requests import PendingRequest, Requests
from skillopt.state.ports.results import Blobs, Results, StoredResult
from skillopt.state.ports.runs import Doorbell, LogEntry, RunInfo, Runs
from skillopt.state.ports.server import REQUIRED_VERSION, Server, ServerFacts
from skillopt.state.ports.shares import Demand, Shares
from skillopt.state.ports.spending import DaySpend, Spending
from skillopt.state.ports.throttle import (
    Admission,
    CallEnd,
    EndKind,
    Standing,
    Throttle,
    ThrottleScope,
)
from skillopt.state.ports.tokens import TokenInfo, TokenRole, Tokens

__all__ = [
    "LIMIT_NAMES",
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
    "DaySpend",
    "Dead",
    "Demand",
    "Doorbell",
    "EndKind",
    "Finished",
    "Fleet",
    "JobBoard",
    "JobClaims",
    "Lane",
    "Lead",
    "LogEntry",
    "Notices",
    "OwnerQuota",
    "Paid",
    "PendingRequest",
    "Quotas",
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
    "SetLimits",
    "SharedBudget",
    "Shares",
    "Spend",
    "Spending",
    "Standing",
    "State",
    "StoredResult",
    "Throttle",
    "ThrottleScope",
    "TokenInfo",
    "TokenRole",
    "Tokens",
    "TroubledJob",
    "Want",
    "WantAnswer",
    "WantStatus",
    "WatchedRun",
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
    shares: Shares
    quotas: Quotas
    tokens: Tokens
    limits: SetLimits
    spending: Spending
    notices: Notices
