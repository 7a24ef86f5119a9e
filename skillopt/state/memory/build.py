"""Build the state in memory."""

from __future__ import annotations

from skillopt.domain.timing import Timing
from skillopt.state.memory.archive import MemoryArchive
from skillopt.state.memory.blobs import MemoryBlobs
from skillopt.state.memory.board import MemoryBoard
from skillopt.state.memory.budgets import MemoryBudgets
from skillopt.state.memory.cache import MemoryCache
from skillopt.state.memory.claims import MemoryClaims
from skillopt.state.memory.dead import MemoryDead
from skillopt.state.memory.doorbell import MemoryDoorbell
from skillopt.state.memory.expiring import Clock
from skillopt.state.memory.fleet import MemoryFleet
from skillopt.state.memory.limits import MemorySetLimits
from skillopt.state.memory.notices import MemoryNotices
from skillopt.state.memory.quotas import MemoryQuotas
from skillopt.state.memory.requests import MemoryRequests
from skillopt.state.memory.results import MemoryResults
from skillopt.state.memory.runs import MemoryRuns
from skillopt.state.memory.server import MemoryServer
from skillopt.state.memory.shares import MemoryShares
from skillopt.state.memory.spending import MemorySpending
from skillopt.state.memory.tables import Tables
from skillopt.state.memory.throttle import MemoryThrottle
from skillopt.state.memory.tokens import MemoryTokens
from skillopt.state.ports import State


def build(timing: Timing, clock: Clock) -> State:
    """Give an empty state that lives as long as this process and may be shared by its threads.

    `clock` gives seconds; leases, holds and TTLs go by it alone.
    """
    tables = Tables(timing, clock)
    return State(
        board=MemoryBoard(tables),
        claims=MemoryClaims(tables),
        results=MemoryResults(tables),
        blobs=MemoryBlobs(tables),
        cache=MemoryCache(tables),
        runs=MemoryRuns(tables),
        doorbell=MemoryDoorbell(tables),
        budgets=MemoryBudgets(tables),
        throttle=MemoryThrottle(tables),
        fleet=MemoryFleet(tables),
        server=MemoryServer(tables),
        dead=MemoryDead(tables),
        requests=MemoryRequests(tables),
        archive=MemoryArchive(tables),
        shares=MemoryShares(tables),
        quotas=MemoryQuotas(tables),
        tokens=MemoryTokens(tables),
        limits=MemorySetLimits(tables),
        spending=MemorySpending(tables),
        notices=MemoryNotices(tables),
    )
