"""The validation score over the steps, as a plot of characters."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rich.text import Text

from producer.timeline import Part, in_order
from skillopt.domain.run import EpochEnd, RunState, StepState
from skillopt.loop.gate import score_of

_LEAST_SPAN = 0.2
_LABEL_WIDTH = 6
_MAX_COLUMN = 6


@dataclass(frozen=True)
class CurvePoint:
    """One step ("0" is the start) or slow update ("e1": at the end of epoch 1): the current score
    after it, and that of a candidate that was measured whole and not kept.
    """

    label: str
    current: float
    rejected: float | None = None
    best: bool = False


@dataclass(frozen=True)
class _Marks:
    current: str
    best: str
    rejected: str
    line: str
    axis: str


_UNICODE = _Marks("●", "★", "×", "─", "┤")  # noqa: RUF001 - a plotting mark
_ASCII = _Marks("o", "*", "x", "-", "|")
_STYLES = {"●": "cyan", "o": "cyan", "★": "bold green", "*": "bold green", "×": "red", "x": "red"}  # noqa: RUF001


def curve_points(state: RunState) -> list[CurvePoint]:
    """Read the curve from a run; empty before the first measurement."""
    settings = state.plan.settings.evaluation
    initial = state.measured.get((state.plan.initial_key, "val"))
    score = None if initial is None else score_of(initial, settings)
    if score is None:
        return []
    points = [CurvePoint("0", score, best=state.best == state.plan.initial_key)]
    for part in in_order(state):
        gated = part.gated if part.gated and part.gated.verdict != "indecisive" else None
        if isinstance(part, EpochEnd) and gated is None:
            continue
        if isinstance(part, StepState) and not part.ended:
            break
        rejected, measured = None, None
        if gated and not gated.early:  # a score of some tasks is not comparable with the others
            measured = score_of(gated.measurement, settings)
        if gated and gated.adopted:
            score = score if measured is None else measured
        elif gated:
            rejected = measured
        best = gated is not None and gated.adopted and gated.skill == state.best
        points.append(CurvePoint(_label(part), score, rejected, best))
    return points


def _label(part: Part) -> str:
    if isinstance(part, StepState):
        return str(part.started.step)
    return f"e{part.compared.epoch}"


def plot(points: list[CurvePoint], *, width: int, height: int = 7, ascii_only: bool) -> Text:
    """Draw the curve in at most `width` columns; of a long run, its latest steps."""
    if not points:
        return Text("no validation score yet", style="dim")
    marks = _ASCII if ascii_only else _UNICODE
    room = max(width - _LABEL_WIDTH - 2, 4)
    shown = points[-max(room // 2, 1) :]
    column = max(2, min(_MAX_COLUMN, room // len(shown)))
    low, high = _range(shown)
    grid = [[" "] * (column * len(shown)) for _ in range(height)]
    for index, point in enumerate(shown):
        _draw(grid, point, index * column, column if index else 0, marks, (low, high))
    drawn = Text()
    for number, row in enumerate(grid):
        value = low + (high - low) * (height - 1 - number) / (height - 1)
        label = f"{value:.2f}" if number in (0, height - 1) or number == height // 2 else ""
        drawn.append(f"{label:>{_LABEL_WIDTH}} {marks.axis}", style="dim")
        for character in "".join(row).rstrip():
            drawn.append(character, style=_STYLES.get(character, "dim"))
        drawn.append("\n")
    drawn.append(" " * (_LABEL_WIDTH + 2) + _step_labels(shown, column), style="dim")
    return drawn


def legend(*, ascii_only: bool) -> str:
    marks = _ASCII if ascii_only else _UNICODE
    return f"{marks.current} current  {marks.best} best  {marks.rejected} not kept"


def _range(points: list[CurvePoint]) -> tuple[float, float]:
    values = [point.current for point in points]
    values += [point.rejected for point in points if point.rejected is not None]
    low, high = math.floor(min(values) * 10) / 10, math.ceil(max(values) * 10) / 10
    if high - low < _LEAST_SPAN:
        high = min(1.0, low + _LEAST_SPAN)
        low = min(low, high - _LEAST_SPAN)
    return max(0.0, low), min(1.0, high)


def _draw(
    grid: list[list[str]],
    point: CurvePoint,
    left: int,
    lead: int,
    marks: _Marks,
    span: tuple[float, float],
) -> None:
    """Put one step into the grid, with a line of `lead` columns before its mark."""

    def row_of(value: float) -> int:
        low, high = span
        return round((high - value) / (high - low) * (len(grid) - 1))

    row = row_of(point.current)
    for offset in range(1, lead):
        if grid[row][left - offset] == " ":
            grid[row][left - offset] = marks.line
    grid[row][left] = marks.best if point.best else marks.current
    if point.rejected is not None:
        beside = 1 if row_of(point.rejected) == row else 0
        grid[row_of(point.rejected)][left + beside] = marks.rejected


def _step_labels(points: list[CurvePoint], column: int) -> str:
    labels = ""
    for index, point in enumerate(points):
        if len(labels) <= index * column:
            labels = labels.ljust(index * column) + f"{point.label} "
    return labels.rstrip()
