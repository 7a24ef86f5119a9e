"""A run as it was just before each of its events, folded again from its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from skillopt.domain.events import Event
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.errors import StateCorrupt
from skillopt.loop.fold import apply, fold


@dataclass(frozen=True)
class Moment:
    """An event, and all that was known when it was decided."""

    before: RunState
    event: Event


class Moments:
    """The moments of a run, in order. The log is read when the first one is asked for."""

    def __init__(self, plan: RunPlan, log: Callable[[], Sequence[Event]]) -> None:
        self._plan = plan
        self._log = log

    @cached_property
    def _all(self) -> tuple[Moment, ...]:
        events = self._log()
        state = fold(self._plan, events[:1])
        found = []
        for event in events[1:]:
            found.append(Moment(state, event))
            state = apply(state, event)
        return tuple(found)

    def of(self, event: Event) -> Moment:
        """Find the moment of an event of the run's state."""
        return self.first(lambda other: type(other) is type(event) and other == event)

    def first(self, matches: Callable[[Event], bool]) -> Moment:
        """Find the first moment whose event matches. Raises StateCorrupt if there is none."""
        for moment in self._all:
            if matches(moment.event):
                return moment
        raise StateCorrupt("the run's folder lacks an event that the run's state has")
