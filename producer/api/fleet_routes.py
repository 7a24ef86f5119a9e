"""The fleet, its limits, the cache, dead jobs, quotas and spend."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from anyio import to_thread
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from producer.api.access import Administering, Asking, CallersQueue, Parts
from producer.api.caller import Caller
from producer.api.failures import Refusal
from producer.api.parts import ApiParts
from producer.caching.stats import CacheStats, cache_stats
from producer.dead import DeadLetter, dead_letters
from producer.known_runs import KnownRuns
from producer.queue.models import FleetPage, Quota, SpendRow
from skillopt.config.schema import NAME_PATTERN

_TOP_DOCUMENTS: Final = 10
_MOST: Final = 10**9
_CENTURY_S: Final = 3.2e9


class LimitsChange(BaseModel):
    """Limits of a backend for all workers; null gives the catalogue's back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rpm: Annotated[float, Field(gt=0, le=_MOST)] | None = None
    tpm: Annotated[float, Field(gt=0, le=_MOST)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=100_000)] | None = None


class QuotaChange(BaseModel):
    """What an owner may have at once; null (or not given) is unlimited."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_runs: Annotated[int, Field(ge=0, le=_MOST)] | None = None
    max_window: Annotated[int, Field(ge=1, le=100_000)] | None = None


def fleet_routes() -> APIRouter:
    router = APIRouter(tags=["fleet"])
    router.add_api_route("/fleet", fleet, methods=["GET"])
    router.add_api_route("/backends/{name}/limits", set_limits, methods=["PATCH"], status_code=204)
    router.add_api_route("/cache", cache, methods=["GET"])
    router.add_api_route("/dead", dead, methods=["GET"])
    router.add_api_route("/quotas", quotas, methods=["GET"])
    router.add_api_route("/quotas/{owner}", set_quota, methods=["PUT"])
    router.add_api_route("/spend", spend, methods=["GET"])
    return router


def fleet(queue: CallersQueue) -> FleetPage:
    """Give backends and workers with their limits, and what holds calls up."""
    return queue.fleet()


def set_limits(
    caller: Administering,
    queue: CallersQueue,
    name: Annotated[str, Path(pattern=NAME_PATTERN)],
    limits: LimitsChange,
) -> None:
    """Change the limits of a backend for all workers, at once."""
    given: dict[str, float | None] = limits.model_dump(include=limits.model_fields_set)
    if not given:
        raise Refusal(422, "bad_request", "nothing is to change; give rpm, tpm or concurrency")
    queue.set_limits(name, given)


async def cache(parts: Parts, caller: Asking) -> CacheStats:
    """Count what the cache holds; documents are listed with the runs that you may see."""
    return await to_thread.run_sync(_cache, parts, caller, limiter=parts.heavy)


def _cache(parts: ApiParts, caller: Caller) -> CacheStats:
    runs = KnownRuns(parts.state)
    stats = cache_stats(parts.state, runs, top=_TOP_DOCUMENTS, tell=lambda words: None)
    seen = tuple(one for one in stats.top if _sees_run(caller, runs, one.run))
    return stats.model_copy(update={"top": seen})


async def dead(parts: Parts, caller: Asking) -> list[DeadLetter]:
    """List jobs that could not be run, of the runs that you may see."""
    return await to_thread.run_sync(_dead, parts, caller, limiter=parts.heavy)


def _dead(parts: ApiParts, caller: Caller) -> list[DeadLetter]:
    runs = KnownRuns(parts.state)
    letters = dead_letters(parts.state, runs)
    return [
        one
        for one in letters
        if (caller.is_admin if one.run is None else _sees_run(caller, runs, one.run))
    ]


def quotas(caller: Asking, queue: CallersQueue) -> list[Quota]:
    """List what owners may have at once: yours, for an admin everybody's."""
    return [one for one in queue.quotas() if caller.is_admin or one.owner == caller.owner]


def set_quota(
    caller: Administering,
    queue: CallersQueue,
    owner: Annotated[str, Path(pattern=NAME_PATTERN)],
    change: QuotaChange,
) -> Quota:
    """Set what an owner may have at once."""
    quota = Quota(owner=owner, max_runs=change.max_runs, max_window=change.max_window)
    queue.set_quota(quota)
    return next((one for one in queue.quotas() if one.owner == owner), quota)


def spend(
    queue: CallersQueue,
    by: Literal["owner", "team", "backend", "run"] = "owner",
    since: Annotated[
        float | None, Query(gt=0, le=_CENTURY_S, description="Seconds back from now")
    ] = None,
) -> list[SpendRow]:
    """Sum up what was spent on the runs that you may see."""
    return queue.spend(by, since_s=since)


def _sees_run(caller: Caller, runs: KnownRuns, run: str) -> bool:
    info = runs.infos.get(run)
    if info is None:
        return caller.is_admin
    return caller.sees(info.meta.get("owner", ""), info.meta.get("team", ""))
