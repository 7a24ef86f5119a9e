"""A run as it happens: its events, and how it stands whenever that has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from producer.queue.models import EventRow, RunStatus
from skillopt.state.ports import Doorbell

#: How long nothing may ring before a run is looked at all the same.
LOOK_S = 1.0
#: Rings within this time are one: a fast run rings for every result.
GATHER_S = 0.2
#: Looks after which time and estimates, which change all the time, are told although nothing
#: else has changed.
QUIET_LOOKS = 5
_ENDED = frozenset({"finished", "cancelled"})


class Events(Protocol):
    def __call__(self, *, after: int, limit: int = 1000) -> list[EventRow]: ...


def follow(
    doorbell: Doorbell,
    run: str,
    *,
    events: Events,
    status: Callable[[], RunStatus],
    after: int,
    sleep: Callable[[float], object],
) -> Iterator[EventRow | RunStatus]:
    """Give events after `after` as they come, and the status, until the run has ended."""
    cursor = doorbell.wait(run, "", timeout_s=0)
    told: RunStatus | None = None
    quiet = 0
    while True:
        present = status()  # before the events: an end that it tells of is among them
        page = events(after=after)
        while page:
            yield from page
            after = page[-1].seq
            page = events(after=after)
        quiet += 1
        if told is None or quiet >= QUIET_LOOKS or _lasting(present) != _lasting(told):
            yield present
            told, quiet = present, 0
        if present.row.phase in _ENDED:
            return
        rung = doorbell.wait(run, cursor, timeout_s=LOOK_S)
        if rung != cursor:
            sleep(GATHER_S)
        cursor = rung


def _lasting(status: RunStatus) -> RunStatus:
    """Leave out what changes all the time."""
    row = status.row.model_copy(update={"active_s": 0.0, "eta_s": None})
    return status.model_copy(update={"row": row})
