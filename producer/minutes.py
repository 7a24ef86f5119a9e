"""How long a run has been active, by the times of its log."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.domain.events import Event, Finished, RunCreated, decode_event
from skillopt.domain.steering_events import Cancelled, Paused, Resumed
from skillopt.state.ports import LogEntry


class ActiveTime:
    """Sums the stretches between creation or resumption and the pause, end or last event.

    A resumption without a pause before it follows a coordinator that was stopped: the stretch
    up to then ended with the last event that was written.
    """

    def __init__(self) -> None:
        self._total = 0.0
        self._since: float | None = None
        self._last = 0.0

    def take(self, at: float, event: Event) -> None:
        """Take one more event in, with its time."""
        if isinstance(event, RunCreated | Resumed):
            self._total += self._last - self._since if self._since is not None else 0.0
            self._since = at
        elif isinstance(event, Paused | Finished | Cancelled) and self._since is not None:
            self._total, self._since = self._total + at - self._since, None
        self._last = at

    @property
    def seconds(self) -> float:
        """Give the time up to the last event."""
        return self.until(self._last)

    def until(self, now: float) -> float:
        """Give the time up to `now`, supposing that somebody has worked on the run since."""
        return self._total + (max(now, self._last) - self._since if self._since is not None else 0)


def active_seconds(entries: Sequence[LogEntry]) -> float:
    """Give how long a run has been active, from its whole log."""
    active = ActiveTime()
    for entry in entries:
        active.take(entry.at, decode_event(entry.event))
    return active.seconds
