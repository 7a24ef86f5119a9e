"""How long a run has been active, by the times of its log."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.domain.events import Finished, Paused, Resumed, RunCreated, decode_event
from skillopt.state.ports import LogEntry


def active_seconds(entries: Sequence[LogEntry]) -> float:
    """Sum the stretches between creation or resumption and the pause, end or last event."""
    total, since, last = 0.0, None, 0.0
    for entry in entries:
        event, last = decode_event(entry.event), entry.at
        if isinstance(event, RunCreated | Resumed) and since is None:
            since = entry.at
        elif isinstance(event, Paused | Finished) and since is not None:
            total, since = total + entry.at - since, None
    return total + (last - since if since is not None else 0.0)
