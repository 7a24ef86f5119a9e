"""The fleet: who serves each backend, how much it may do, and what holds it up."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from producer.queue.models import BackendRow, WorkerRow
from producer.serving import Serving, serving
from skillopt.domain.backend import LimitName, Limits
from skillopt.domain.throttling import Waiting, waiting_for
from skillopt.state.ports import LIMIT_NAMES, Standing, State, WorkerInfo
from skillopt.wire.broker import stored_as
from skillopt.wire.payloads import addressed
from skillopt.wire.tasks import queue_of

#: What people set and see; `min_concurrency` is a detail of the catalogue.
SHOWN_LIMITS = ("rpm", "tpm", "concurrency")


def backend_rows(state: State, wanted: Sequence[str]) -> list[BackendRow]:
    """Give every backend that has a worker, a limit set, or a run that wants it."""
    workers, changed = state.fleet.workers(), state.limits.all()
    names = dict.fromkeys([*wanted, *changed, *(info.backend for info in workers)])
    own = {name: _own_limits(workers, name) for name in names}
    in_force = {name: own[name].changed(changed.get(name, {})) for name in names}
    served = serving(state, in_force)
    ages = _queue_ages(state, list(names))
    waiting = state.throttle.waiting(list(names))
    return [
        _row(
            name,
            served[name],
            in_force[name],
            set_limits=changed.get(name, {}),
            age_s=ages.get(name),
            waiting=waiting.get(name),
        )
        for name in sorted(names)
    ]


def worker_rows(state: State) -> list[WorkerRow]:
    return [
        WorkerRow(
            worker=info.worker,
            backend=info.backend,
            capacity=info.capacity,
            lane=info.lane,
            version=info.version,
        )
        for info in state.fleet.workers()
    ]


def _own_limits(workers: Sequence[WorkerInfo], backend: str) -> Limits:
    """Give the limits of the catalogue that a backend's workers go by, as they tell them."""
    said = next((info.limits for info in workers if info.backend == backend), {})
    return Limits(**{name: said[name] for name in LIMIT_NAMES if name in said})


def _row(
    name: str,
    served: Serving,
    limits: Limits,
    *,
    set_limits: Mapping[LimitName, int],
    age_s: float | None,
    waiting: Waiting | None,
) -> BackendRow:
    normal = [info for info in served.workers if info.lane == "normal"]
    standings = [standing for _, standing in served.standings]
    allowed = [one.allowed for one in standings if one.allowed is not None]
    return BackendRow(
        name=name,
        workers=len(served.workers),
        capacity=sum(info.capacity for info in normal),
        in_flight=sum(one.in_flight for one in standings),
        queued=served.queued + served.quarantined,
        queue_age_s=age_s,
        limits={limit: getattr(limits, limit) for limit in SHOWN_LIMITS},
        set_limits={limit: value for limit, value in set_limits.items()},
        allowed=sum(allowed) if allowed else None,
        breaker=_breaker(standings),
        waiting="" if waiting is None else waiting_for(name, waiting, datetime.now(UTC)),
    )


def _breaker(standings: Sequence[Standing]) -> str:
    """Give the worst of a backend's breakers in words; "" before anybody has called it."""
    words = {"open": "open: left alone after failures", "probing": "half open: being tried again"}
    for state in ("open", "probing"):
        if any(one.breaker == state for one in standings):
            return words[state]
    return "closed" if standings else ""


def _queue_ages(state: State, names: Sequence[str]) -> dict[str, float]:
    """Give how long the oldest message of each backend's queue has waited, where one waits."""
    lists = {stored_as(queue_of(name)): name for name in names}
    oldest = state.server.oldest(list(lists)) if lists else {}
    jobs = {lists[queue]: job for queue, raw in oldest.items() if (job := job_of(raw))}
    known = state.dead.look(list(jobs.values())) if jobs else {}
    now = state.server.now() if jobs else 0.0
    ages = {}
    for name, job in jobs.items():
        sent_at = known[job].sent_at if job in known else None
        if sent_at is not None:
            ages[name] = max(0.0, now - sent_at)
    return ages


def job_of(message: bytes) -> str | None:
    """Give the job that a message in the broker's list asks for; None if it is none of ours."""
    try:
        body = json.loads(base64.b64decode(json.loads(message)["body"]))
        payload = body[0][0]
    except (ValueError, binascii.Error, KeyError, IndexError, TypeError):
        return None
    meant = addressed(payload)
    return None if meant is None else meant.job
