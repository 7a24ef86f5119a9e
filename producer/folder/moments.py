"""A run as it was just before each of its events, folded from its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillopt.domain.events import Event, StepStarted, decode_event
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.errors import StateCorrupt
from skillopt.loop.fold import apply, fold
from skillopt.state.ports import LogEntry


@dataclass(frozen=True)
class Moment:
    """An event, and all that was known when it was decided."""

    before: RunState
    event: Event


class Moments:
    """The moments of a run.

    Whoever follows the run hands its entries on as they come, so that each is folded once; those
    of the step under way are kept. For any other moment the whole log is read again.
    """

    def __init__(self, plan: RunPlan, log: Callable[[], Sequence[Event]]) -> None:
        self._plan = plan
        self._log = log
        self._recent: list[Moment] = []
        self._whole: list[Moment] | None = None
        #: After the last entry that was handed on, and its number; None if one was missed.
        self._state: RunState | None = None
        self._seq = 0

    def follow(self, entries: Sequence[LogEntry]) -> None:
        """Take new entries in. After a gap the log is relied on instead."""
        self._whole = None
        for entry in entries:
            if entry.seq <= self._seq:
                continue
            if entry.seq != self._seq + 1 or (self._seq and self._state is None):
                self._recent, self._state = [], None
                return
            event = decode_event(entry.event)
            if self._state is None:
                self._state = fold(self._plan, [event])
            else:
                self._recent.append(Moment(self._state, event))
                self._state = apply(self._state, event)
            self._seq = entry.seq

    def forget_past_steps(self) -> None:
        """Let go of what lies before the latest step, and of a log that was read again."""
        self._whole = None
        starts = [n for n, one in enumerate(self._recent) if isinstance(one.event, StepStarted)]
        if starts:
            del self._recent[: starts[-1]]

    def of(self, event: Event) -> Moment:
        """Find the moment of an event of the run's state. Raises StateCorrupt if there is none."""
        found = _find(self._recent, event)
        if found is None:
            if self._whole is None:
                self._whole = self._read()
            found = _find(self._whole, event)
        if found is None:
            raise StateCorrupt("the run's folder lacks an event that the run's state has")
        return found

    def _read(self) -> list[Moment]:
        events = self._log()
        state = fold(self._plan, events[:1])
        found = []
        for event in events[1:]:
            found.append(Moment(state, event))
            state = apply(state, event)
        return found


def _find(moments: Sequence[Moment], event: Event) -> Moment | None:
    for moment in moments:
        if type(moment.event) is type(event) and moment.event == event:
            return moment
    return None
