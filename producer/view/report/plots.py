"""The plots of a report, as SVG drawn at a fixed size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from producer.queue.models import CurveRow
from producer.scores import Score
from producer.view import numbers
from producer.view.report.markup import Html, tag

WIDTH = 760.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 16.0, 12.0, 30.0
_CURVE_HEIGHT = 270.0
_LEAST_SPAN = 0.2
_ROW = 30.0
_LABELS_WIDTH = 34.0


@dataclass(frozen=True)
class _Frame:
    """Where values lie in the curve's plot."""

    count: int
    low: float
    high: float

    def x(self, index: int) -> float:
        inner = WIDTH - _LEFT - _RIGHT
        return _LEFT + (inner / 2 if self.count == 1 else inner * index / (self.count - 1))

    def y(self, value: float) -> float:
        inner = _CURVE_HEIGHT - _TOP - _BOTTOM
        return _TOP + (self.high - value) / (self.high - self.low) * inner


def curve_plot(rows: Sequence[CurveRow]) -> Html:
    """Draw train, validation and best score over the steps, with each gate's verdict."""
    frame = _frame(rows)
    return tag(
        "svg",
        list(_grid(frame)),
        _step_labels(rows, frame),
        _stairs(rows, frame, "best", lambda row: row.best),
        _stairs(rows, frame, "val", lambda row: row.val),
        _train_line(rows, frame),
        [_marks(row, index, frame) for index, row in enumerate(rows)],
        viewBox=f"0 0 {WIDTH:.0f} {_CURVE_HEIGHT:.0f}",
        class_="plot",
        role="img",
        aria_label=_curve_words(rows),
    )


def curve_legend() -> Html:
    signs = [
        (tag("path", class_="line val", d="M1 6H21"), "validation"),
        (tag("path", class_="line best", d="M1 6H21"), "best"),
        (tag("path", class_="line train", d="M1 6H21"), "train batch"),
        (_mark("accepted", 11, 6), "accepted"),
        (_mark("rejected", 11, 6), "rejected"),
        (_mark("underpowered", 11, 6), "not decided for it"),
        (_mark("skipped", 11, 6), "no candidate"),
    ]
    entries = [
        tag("li", tag("svg", sign, viewBox="0 0 22 12", aria_hidden="true"), words)
        for sign, words in signs
    ]
    return tag("ul", entries, class_="legend")


def interval_plot(scores: Mapping[str, Score | None]) -> Html | None:
    """Draw hard scores with their 95 % intervals, a row each; None if there is none."""
    known = [(name, score) for name, score in scores.items() if score and score.hard is not None]
    if not known:
        return None
    left, right = 190.0, 70.0
    inner = WIDTH - left - right
    height = _ROW * len(known) + 26
    ticks = [
        (
            tag("line", class_="grid", x1=left + inner * at, x2=left + inner * at, y1=0,
                y2=height - 22),
            tag("text", f"{at:.1f}", x=left + inner * at, y=height - 6, text_anchor="middle"),
        )
        for at in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    ]  # fmt: skip
    rows = [
        _interval_row(name, score, left, inner, _ROW * index + _ROW / 2)
        for index, (name, score) in enumerate(known)
    ]
    words = "; ".join(f"{name} {numbers.score(score.hard)}" for name, score in known)
    return tag(
        "svg",
        ticks,
        rows,
        viewBox=f"0 0 {WIDTH:.0f} {height:.0f}",
        class_="plot",
        role="img",
        aria_label=f"Scores with their 95 % intervals: {words}",
    )


def bar_plot(values: Mapping[str, int], noun: str) -> Html:
    """Draw counts as bars, a row each."""
    left, right = 110.0, 110.0
    largest = max([*values.values(), 1])
    rows = []
    for index, (name, value) in enumerate(values.items()):
        middle = _ROW * index + _ROW / 2
        length = (WIDTH - left - right) * value / largest
        rows += [
            tag("text", name, x=left - 10, y=middle + 4, text_anchor="end"),
            tag("rect", class_="bar", x=left, y=middle - 6, width=length, height=12, rx=3),
            tag("text", numbers.plural(value, noun), x=left + length + 10, y=middle + 4),
        ]
    return tag(
        "svg",
        rows,
        viewBox=f"0 0 {WIDTH:.0f} {_ROW * len(values):.0f}",
        class_="plot",
        role="img",
        aria_label=", ".join(
            f"{name}: {numbers.plural(value, noun)}" for name, value in values.items()
        ),
    )


def _frame(rows: Sequence[CurveRow]) -> _Frame:
    values = [
        value
        for row in rows
        for value in (row.train, row.val, row.candidate, row.best)
        if value is not None
    ] or [0.0]
    low, high = math.floor(min(values) * 10) / 10, math.ceil(max(values) * 10) / 10
    if high - low < _LEAST_SPAN:
        high = min(1.0, low + _LEAST_SPAN)
        low = min(low, high - _LEAST_SPAN)
    return _Frame(len(rows), max(0.0, low), min(1.0, high))


def _grid(frame: _Frame) -> Iterator[Html]:
    step = 0.2 if frame.high - frame.low > 0.5 else 0.1
    for number in range(round((frame.high - frame.low) / step) + 1):
        value = frame.low + number * step
        y = frame.y(value)
        yield tag("line", class_="grid", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y)
        yield tag("text", f"{value:.1f}", x=_LEFT - 8, y=y + 4, text_anchor="end")


def _step_labels(rows: Sequence[CurveRow], frame: _Frame) -> list[Html]:
    every = max(1, math.ceil(len(rows) * _LABELS_WIDTH / (WIDTH - _LEFT - _RIGHT)))
    return [
        tag("text", row.label, x=frame.x(index), y=_CURVE_HEIGHT - 8, text_anchor="middle")
        for index, row in enumerate(rows)
        if index % every == 0
    ]


def _stairs(
    rows: Sequence[CurveRow], frame: _Frame, name: str, value_of: Callable[[CurveRow], float | None]
) -> Html | None:
    """Draw a line in steps: a score holds until the next step changes it."""
    path = ""
    for index, row in enumerate(rows):
        if (value := value_of(row)) is not None:
            x, y = frame.x(index), frame.y(value)
            path += f"H{x:.1f}V{y:.1f}" if path else f"M{x:.1f} {y:.1f}"
    return tag("path", class_=f"line {name}", d=path) if path else None


def _train_line(rows: Sequence[CurveRow], frame: _Frame) -> Html | None:
    at = [
        f"{frame.x(index):.1f} {frame.y(row.train):.1f}"
        for index, row in enumerate(rows)
        if row.train is not None
    ]
    return tag("path", class_="line train", d=f"M{'L'.join(at)}") if at else None


def _marks(row: CurveRow, index: int, frame: _Frame) -> list[Html]:
    x = frame.x(index)
    drawn = []
    if row.train is not None:
        drawn.append(tag("circle", class_="train-dot", cx=x, cy=frame.y(row.train), r=2.5))
    value = row.val if row.verdict is None or row.candidate is None else row.candidate
    if value is None:
        return drawn
    y = frame.y(value)
    mark = tag("circle", class_="dot", cx=x, cy=y, r=4) if row.verdict is None else None
    return [*drawn, mark or _mark(row.verdict or "", x, y)]


def _mark(verdict: str, x: float, y: float) -> Html:
    if verdict.startswith("accept"):
        return tag("circle", class_="mark accepted", cx=x, cy=y, r=5)
    paths = {
        "rejected": ("rejected", f"M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10"),
        "skipped": ("skipped", f"M{x - 5:.1f} {y:.1f}h10"),
    }
    kind, path = paths.get(verdict, ("other", f"M{x:.1f} {y - 6:.1f}l6 11h-12z"))
    return tag("path", class_=f"mark {kind}", d=path)


def _interval_row(name: str, score: Score, left: float, inner: float, y: float) -> list[Html]:
    value = score.hard or 0.0
    drawn = [tag("text", name, x=left - 14, y=y + 4, text_anchor="end")]
    if score.interval:
        low, high = (left + inner * end for end in score.interval)
        drawn.append(tag("line", class_="whisker", x1=low, x2=high, y1=y, y2=y))
    drawn.append(tag("circle", class_="dot", cx=left + inner * value, cy=y, r=5))
    drawn.append(tag("text", numbers.score(value), x=left + inner + 14, y=y + 4))
    return drawn


def _curve_words(rows: Sequence[CurveRow]) -> str:
    said = [
        f"{row.label}: validation {numbers.score(row.val)}"
        f"{f', {row.verdict}' if row.verdict else ''}"
        for row in rows
    ]
    return f"Scores by step. {'; '.join(said)}"
