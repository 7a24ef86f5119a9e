"""Somebody watches a run: what they are shown, and how it stood when there was no more to see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from producer.exit_codes import ExitCode, exit_code_at_rest
from producer.queue.models import CurveRow, EventRow, RunStatus
from producer.queue.port import Queue
from skillopt.errors import StateError

#: Events that may bring the curve another point, or a verdict to one.
_CURVE_EVENTS: Final = frozenset(
    {"measured", "reflected", "gated", "skipped", "meta_learned", "finished"}
)


class Watched(Protocol):
    """Where a run is shown."""

    def event(self, event: EventRow) -> None: ...

    def update(self, status: RunStatus, curve: Sequence[CurveRow]) -> None: ...


class Watching:
    """One run that is watched; it is known by its id from the start, so `last` stays the same."""

    def __init__(self, queue: Queue, run: str, *, stay: bool = False) -> None:
        """Find the run. With `stay`, a pause is waited through."""
        self._queue = queue
        self._stay = stay
        self.status: RunStatus = queue.status(run)
        self.run = self.status.row.run
        self.curve: list[CurveRow] = []
        self._paused_for: str | None = None

    def watch(self, view: Watched) -> None:
        """Show the run until it has ended, or paused. Raises StateError if the queue goes away."""
        curve_is_old = True
        for one in self._queue.follow(self.run):
            if isinstance(one, EventRow):
                curve_is_old = curve_is_old or one.type in _CURVE_EVENTS
                if one.type == "paused":
                    self._paused_for = str(one.event.get("why"))
                view.event(one)
                continue
            self.status = one
            if curve_is_old and one.row.mode == "train":
                self.curve, curve_is_old = self._queue.curve(self.run), False
            view.update(one, self.curve)
            if one.row.phase == "paused" and not self._stay:
                return
        if self.status.row.phase in ("queued", "running"):
            raise StateError(f"the queue told no more of run {self.run!r} before its end")

    @property
    def exit_code(self) -> ExitCode:
        return exit_code_at_rest(self.status.row.phase, self._paused_for)

    def as_object(self) -> dict[str, Any]:
        """Give what `skillopt status --json` prints, and the curve."""
        curve = [row.model_dump(mode="json") for row in self.curve]
        return {**self.status.model_dump(mode="json"), "curve": curve}
