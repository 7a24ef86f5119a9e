"""The scores of a run's documents as a table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from producer.scores import NoiseFloor, Score, TagScore
from producer.summary import Document, EvaluatedSplit, InitialDocument, Summary
from producer.view import numbers
from producer.view.printable import safe
from skillopt.domain.fingerprint import short


def score_table(summary: Summary) -> Table:
    """Give initial, best and final document on val and test; of an evaluation, its one split; of
    an A/A run, each of its measurements.
    """
    if summary.mode == "eval":
        return _evaluated_table(summary.evaluated, summary.initial.hash)
    if summary.mode == "aa":
        return _arms_table(summary.noise, summary.initial.hash)
    table = _table(["document", "val hard", "val soft", "test hard", "test soft"])
    for name, document in _documents(summary):
        title = Text(name, style="bold green" if name == "best" else "bold")
        title.append(f" ({_origin(document)})\n{short(document.hash)}", style="dim")
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


def tag_table(summary: Summary) -> Table | None:
    """Give the initial and the best document by tag; None if no task has one."""
    first, best = summary.initial, summary.best
    if summary.mode != "train":
        return _evaluated_tags(summary.evaluated)
    scored = [score for score in (first.val, first.test, best.val, best.test) if score]
    tags = sorted({tag for score in scored for tag in score.by_tag})
    if not tags:
        return None
    table = _table(["tag", "val initial", "val best", "test initial", "test best"])
    for tag in tags:
        cells = [_tag_cell(score, tag) for score in (first.val, best.val, first.test, best.test)]
        table.add_row(safe(tag), *cells)
    return table


def noise_lines(noise: NoiseFloor | None) -> list[str]:
    """Say how far apart the measurements of an A/A run are, and what the gate makes of them."""
    if noise is None or noise.spread is None or noise.flipped is None:
        return []
    lines = [
        f"Noise: the mean {noise.metric} of one document differs by {numbers.score(noise.spread)}; "
        f"{numbers.share(noise.flipped)} of {numbers.plural(noise.items or 0, 'task')} came out "
        "differently",
        f"The gate would have accepted {noise.accepted} of "
        f"{numbers.plural(noise.comparisons or 0, 'comparison')} of the document with itself",
    ]
    if noise.standard_error is not None:
        lines.insert(1, f"Standard error of a difference: {noise.standard_error:.4f}")
    return lines


def _evaluated_tags(evaluated: EvaluatedSplit | None) -> Table | None:
    if evaluated is None or not evaluated.score.by_tag:
        return None
    table = _table(["tag", "hard", "soft"])
    for tag, score in evaluated.score.by_tag.items():
        table.add_row(safe(tag), _tag_text(score), numbers.score(score.soft))
    return table


def _tag_cell(score: Score | None, tag: str) -> Text:
    found = score.by_tag.get(tag) if score else None
    return _tag_text(found) if found else Text(numbers.UNKNOWN)


def _tag_text(score: TagScore) -> Text:
    return Text(numbers.score(score.hard)).append(f" n={score.n}", style="dim")


def _documents(summary: Summary) -> Iterator[tuple[str, InitialDocument | Document]]:
    yield "initial", summary.initial
    yield "best", summary.best
    yield "final", summary.final


def _origin(document: InitialDocument | Document) -> str:
    if not isinstance(document, Document):
        return "step 0"
    slow = "slow update after " if document.source == "slow_update" else ""
    return f"{slow}step {document.step}"


def _arms_table(noise: NoiseFloor | None, skill: str) -> Table:
    table = _table([f"document {short(skill)} on val", "hard", "soft"])
    for number, score in enumerate(noise.arms if noise else (), start=1):
        table.add_row(f"time {number}", hard_cell(score), soft_cell(score))
    return table


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
