"""A run of the queue as it happens: one screen on a terminal, one line per event elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from producer.queue.models import CurveRow, EventRow, RunRow, RunStatus
from producer.view import numbers
from producer.view.curve import CurvePoint
from producer.view.live import LAST_SHOWN, PLAIN_PROGRESS_S
from producer.view.live_parts import curve_part, progress_row
from producer.view.printable import one_line, safe
from producer.view.queue_words import (
    OPEN_PHASES,
    left_words,
    owner_words,
    role_words,
    share_words,
    standing_words,
    step_words,
    work_words,
)
from producer.view.screen import Screen

#: Events that tell what came of a step or of an epoch's end.
VERDICT_EVENTS = frozenset({"gated", "skipped"})
#: What is told above the screen, once.
_NOTICES = frozenset({"paused", "resumed", "retuned", "cancelled", "left_out", "gave_up"})
#: Too much detail for a line of the log.
_UNTOLD = frozenset({"merged", "selected"})
_KEPT = frozenset({"accepted", "kept by force"})
_LONGEST = 300


def _now() -> float:
    return datetime.now(UTC).timestamp()


class WatchView:
    """Shows a run while somebody watches it."""

    def __init__(self, screen: Screen, clock: Callable[[], float] = _now) -> None:
        self._screen = screen
        self._clock = clock
        self._verdicts: deque[str] = deque(maxlen=LAST_SHOWN)
        self._begun = False
        self._elapsed_s = 0.0
        self._created_at: float | None = None
        self._logged: tuple[float, str] = (0.0, "")

    def event(self, event: EventRow) -> None:
        """Tell of an event: a line of the log, or part of the screen."""
        if self._created_at is None:
            self._created_at = event.at
        if event.type in VERDICT_EVENTS:
            self._verdicts.append(event.words)
        if not self._screen.drawn:
            if event.type not in _UNTOLD:
                self._line(event.at - self._created_at, event.words)
        elif event.type in _NOTICES and self._begun:
            # Old ones are no news: the screen says how the run stands.
            self._screen.note(event.words)

    def update(self, status: RunStatus, curve: Sequence[CurveRow]) -> None:
        """Show how the run stands now."""
        self._begun = True
        if self._screen.drawn:
            self._screen.draw(watch_page(status, curve, self._verdicts, self._screen.console))
        else:
            self._log_progress(status)

    def _log_progress(self, status: RunStatus) -> None:
        row = status.row
        words = standing_words(status)
        since, before = self._logged
        due = words != before or row.active_s - since >= PLAIN_PROGRESS_S
        if row.phase not in OPEN_PHASES or not due:
            return
        self._logged = row.active_s, words
        done = f", {status.stage_done} of {status.stage_total} done" if status.stage_total else ""
        self._line(self._clock() - row.created_at, f"{words}{done}, {work_words(status)}")

    def _line(self, elapsed_s: float, words: str) -> None:
        """Write a line; the clocks here and there may differ, but time never goes back."""
        self._elapsed_s = max(self._elapsed_s, elapsed_s)
        self._screen.line(self._elapsed_s, words)


def watch_page(
    status: RunStatus, curve: Sequence[CurveRow], verdicts: Sequence[str], console: Console
) -> RenderableType:
    """Give the whole screen."""
    row = status.row
    going_on = row.phase in OPEN_PHASES
    done, total = (status.stage_done, status.stage_total) if going_on else (0, 0)
    parts: list[RenderableType] = [
        progress_row(one_line(standing_words(status), _LONGEST), done, total),
        Text(work_words(status)),
        Text(f"calls by role: {role_words(row)}", style="dim"),
        *(safe(share_words(share), "dim") for share in status.shares),
    ]
    if going_on:
        place = "" if row.position is None else f", place {row.position} on its backends"
        parts.append(safe(f"still needs: {left_words(row)}{place}", "dim"))
    if row.dead_jobs:
        parts.append(safe(f"{numbers.plural(row.dead_jobs, 'job')} given up", "red"))
    if row.mode == "train":
        parts += curve_part(points_of(curve), "score", console)
    if verdicts:
        parts += [Text(), *(safe(one_line(words, _LONGEST)) for words in verdicts)]
    return Panel(Group(*parts), title=_title(row), title_align="left", border_style="cyan")


def points_of(curve: Sequence[CurveRow]) -> list[CurvePoint]:
    """Give the points that a terminal plots: those that have a verdict, and the start."""
    shown = [row for row in curve if row.label == "0" or _is_point(row)]
    best_at = next(
        (
            index
            for index in reversed(range(len(shown)))
            if index == 0 or (shown[index].verdict in _KEPT and _is_better(shown, index))
        ),
        0,
    )
    return [
        CurvePoint(
            row.label,
            row.val,
            rejected=None if row.verdict in _KEPT else row.candidate,
            best=index == best_at,
        )
        for index, row in enumerate(shown)
        if row.val is not None
    ]


def _is_point(row: CurveRow) -> bool:
    """Whether a part has ended; an epoch's end only counts if its gate has decided."""
    if row.verdict is None or row.verdict == "undecided":
        return False
    return not row.label.startswith("e") or row.verdict not in ("skipped", "meta skill only")


def _is_better(shown: Sequence[CurveRow], index: int) -> bool:
    return shown[index].best != shown[index - 1].best


def _title(row: RunRow) -> Text:
    title = safe(row.name, "bold").append(f"  {row.run}", style="dim")
    if row.mode == "train":
        title.append(f"  step {step_words(row)}", style="default")
    title.append(f"  {numbers.duration(row.active_s)}", style="dim")
    return title.append(f"  {one_line(owner_words(row), 60)}, {row.priority}", style="dim")
