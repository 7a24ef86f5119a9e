"""The Lua scripts: loaded once from `lua/`, called by hash, with every argument named here.

Each file's header says which keys and arguments it takes and what it replies. A script decides
alone, by the server's clock; durations and limits reach it as arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

import redis

from skillopt.domain.timing import Timing
from skillopt.errors import Fenced
from skillopt.state import keys
from skillopt.state.ports import MAX_JOBS_PER_CALL, Lead
from skillopt.state.redis.faults import translated

ScriptName = Literal[
    "want", "unwant", "retry", "revive",
    "claim", "renew", "release", "abandon", "commit",
    "read", "forget", "clear",
    "create", "lead", "resign", "step", "restore", "enter", "pin", "remove",
    "reserve", "extend", "settle", "spend",
    "admit", "keep", "leave", "standing", "waits",
    "workers",
    "demand", "quotas",
    "grant", "revoke",
    "tell", "advance", "told",
]  # fmt: skip

Argument = str | bytes | int

FOLDER: Final = Path(__file__).parent / "lua"
#: Entries a doorbell keeps, more or less: one is enough to wake, more only help a slow reader.
DOORBELL_LENGTH: Final = 1000

_T = TypeVar("_T")


def source(name: ScriptName) -> str:
    """Give a script's text: the shared functions, then its own."""
    shared = (FOLDER / "shared.lua").read_text(encoding="utf-8")
    return shared + (FOLDER / f"{name}.lua").read_text(encoding="utf-8")


def milliseconds(seconds: float) -> int:
    """Express a duration as scripts and TTLs take it: at least one millisecond."""
    return max(1, round(seconds * 1000))


def chunks(values: Sequence[_T], size: int = MAX_JOBS_PER_CALL) -> Iterator[Sequence[_T]]:
    """Cut a sequence into pieces that one call may take."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


@dataclass(frozen=True)
class Limits:
    """A `Timing` as scripts take it: whole milliseconds, and the counts."""

    lease: int
    lead: int
    resend: int
    reservation: int
    spec_ttl: int
    result_ttl: int
    blob_ttl: int
    doorbell_ttl: int
    worker_ttl: int
    view_ttl: int
    spending_ttl: int
    demand: int
    max_lost_claims: int
    max_quarantine_claims: int

    @classmethod
    def of(cls, timing: Timing) -> Limits:
        return cls(
            lease=milliseconds(timing.lease_s),
            lead=milliseconds(timing.lead_s),
            resend=milliseconds(timing.resend_s),
            reservation=milliseconds(timing.reservation_s),
            spec_ttl=milliseconds(timing.spec_ttl_s),
            result_ttl=milliseconds(timing.result_ttl_s),
            blob_ttl=milliseconds(timing.blob_ttl_s),
            doorbell_ttl=milliseconds(timing.doorbell_ttl_s),
            worker_ttl=milliseconds(timing.worker_ttl_s),
            view_ttl=milliseconds(timing.view_ttl_s),
            spending_ttl=milliseconds(timing.spending_ttl_s),
            demand=milliseconds(timing.demand_s),
            max_lost_claims=timing.max_lost_claims,
            max_quarantine_claims=timing.max_quarantine_claims,
        )

    @property
    def bell(self) -> tuple[str, int, int]:
        """What a script needs in order to ring: prefix, length and TTL of doorbells."""
        return (keys.DOORBELL_PREFIX, DOORBELL_LENGTH, self.doorbell_ttl)


class Scripts:
    """Every script, ready to call on one client."""

    def __init__(self, client: redis.Redis) -> None:
        self._scripts = {
            name: client.register_script(source(name)) for name in get_args(ScriptName)
        }

    def call(self, name: ScriptName, names: Sequence[str], arguments: Sequence[Argument]) -> Any:  # noqa: ANN401 - each script has its own reply
        """Run a script; the server gets its text once, then only the hash."""
        with translated():
            return self._scripts[name](keys=names, args=arguments)


def fenced(lead: Lead) -> Fenced:
    return Fenced(
        f"{lead.owner!r} with fence {lead.fence} does not lead run {lead.run!r} any more; "
        "take the lead again"
    )
