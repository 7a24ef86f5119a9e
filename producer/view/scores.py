"""The scores of a run's documents as a table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from producer.summary import Document, EvaluatedSplit, InitialDocument, Score, Summary
from producer.view import numbers
from producer.view.printable import safe
from skillopt.domain.fingerprint import short


def score_table(summary: Summary) -> Table:
    """Give initial, best and final document on val and test; of an evaluation, its one split."""
    if summary.mode == "eval":
        return _evaluated_table(summary.evaluated, summary.initial.hash)
    table = _table(["document", "val hard", "val soft", "test hard", "test soft"])
    for name, step, document in _documents(summary):
        title = Text(name, style="bold green" if name == "best" else "bold")
        title.append(f" (step {step})\n{short(document.hash)}", style="dim")
        table.add_row(
            title,
            hard_cell(document.val),
            soft_cell(document.val),
            hard_cell(document.test),
            soft_cell(document.test),
        )
    return table


def hard_cell(score: Score | None) -> Text:
    """Show the hard score, n with the 95 % interval, and coverage where it is not whole."""
    if score is None:
        return Text(numbers.UNKNOWN)
    cell = Text(numbers.score(score.hard))
    interval = f" [{score.interval[0]:.2f}, {score.interval[1]:.2f}]" if score.interval else ""
    cell.append(f"\nn={score.n}{interval}", style="dim")
    if score.coverage < 1:
        cell.append(f"\ncoverage {numbers.share(score.coverage)}", style="yellow")
    return cell


def soft_cell(score: Score | None) -> str:
    return numbers.score(None if score is None else score.soft)


def _documents(summary: Summary) -> Iterator[tuple[str, int, InitialDocument | Document]]:
    yield "initial", 0, summary.initial
    yield "best", summary.best.step, summary.best
    yield "final", summary.final.step, summary.final


def _evaluated_table(evaluated: EvaluatedSplit | None, skill: str) -> Table:
    table = _table(["document", "split", "hard", "soft"])
    if evaluated is None:
        table.add_row(short(skill), *[numbers.UNKNOWN] * 3)
    else:
        score = evaluated.score
        table.add_row(short(skill), safe(evaluated.split), hard_cell(score), soft_cell(score))
    return table


def _table(columns: list[str]) -> Table:
    table = Table(pad_edge=False, show_lines=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
