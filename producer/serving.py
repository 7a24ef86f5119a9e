"""Who serves which backend now, and how its shared limits stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.domain.backend import LimitName, Limits
from skillopt.state.ports import Standing, State, ThrottleScope, WorkerInfo
from skillopt.wire.broker import stored_as
from skillopt.wire.tasks import queue_of


@dataclass(frozen=True)
class Serving:
    """One backend: its workers, the standing of each credential they call with, its queues."""

    workers: tuple[WorkerInfo, ...] = ()
    standings: tuple[tuple[ThrottleScope, Standing], ...] = ()
    #: Messages that no worker has taken yet; in the lane of suspected poison, too.
    queued: int = 0
    quarantined: int = 0
    #: Limits that a person set, over those of the workers' catalogue.
    set_limits: Mapping[LimitName, int] = field(default_factory=dict)


def serving(state: State, limits: Mapping[str, Limits]) -> dict[str, Serving]:
    """Look at the backends with these names and limits, and at every other that has a worker.

    Raises StateError if the state cannot be read.
    """
    workers = state.fleet.workers()
    names = list(dict.fromkeys([*limits, *(info.backend for info in workers)]))
    queues = {name: stored_as(queue_of(name)) for name in names}
    quarantines = {name: stored_as(queue_of(name, quarantine=True)) for name in names}
    changed = state.limits.all()
    lengths = state.server.queued([*queues.values(), *quarantines.values()])
    found = {}
    for name in names:
        own = tuple(info for info in workers if info.backend == name)
        scopes = dict.fromkeys(
            ThrottleScope(name, info.credential, info.endpoint) for info in own if info.credential
        )
        bounds = limits.get(name, Limits()).changed(changed.get(name, {}))
        found[name] = Serving(
            workers=own,
            standings=tuple((one, state.throttle.standing(one, bounds)) for one in scopes),
            queued=lengths[queues[name]],
            quarantined=lengths[quarantines[name]],
            set_limits=changed.get(name, {}),
        )
    return found
