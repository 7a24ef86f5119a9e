"""How long a run has been active, by the times of its log."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.domain.events import Finished, Paused, Resumed, RunCreated, decode_event
from skillopt.state.ports import LogEntry


def active_seconds(entries: Sequence[LogEntry]) -> float:
    """Sum the stretches between creation or resumption and the pause, end or last event.

    A resumption without a pause before it follows a coordinator that was stopped: the stretch
    up to then ended with the last event that was written.
    """
    total, since, last = 0.0, None, 0.0
    for entry in entries:
        event = decode_event(entry.event)
        if isinstance(event, RunCreated | Resumed):
            total += last - since if since is not None else 0.0
            since = entry.at
        elif isinstance(event, Paused | Finished) and since is not None:
            total, since = total + entry.at - since, None
        last = entry.at
    return total + (last - since if since is not None else 0.0)
