"""What a report says of a run as a whole: figures, scores, spend, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from producer.queue.curve_page import curve_rows
from producer.scores import Score
from producer.summary import Document, InitialDocument, Summary
from producer.view import numbers
from producer.view.final import step_lines
from producer.view.report.markup import Html, tag
from producer.view.report.plots import bar_plot, curve_legend, curve_plot, interval_plot
from producer.view.scores import noise_lines
from skillopt.domain.fingerprint import short
from skillopt.domain.run import RunState


def instant(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def figures(summary: Summary, *, measured_work: bool) -> Html:
    """Give the few numbers that a reader looks for first."""
    shown = [*_score_figures(summary)]
    if measured_work:
        cost = numbers.dollars(summary.cost_usd)
        shown.append(("Spent", cost, numbers.plural(summary.calls.total, "call")))
    shown.append(("Active time", numbers.duration(summary.seconds), _steps(summary)))
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", value, tag("span", note)))
         for name, value, note in shown],
        class_="figures",
    )  # fmt: skip


def _score_figures(summary: Summary) -> list[tuple[str, str, str]]:
    if summary.evaluated is not None:
        score = summary.evaluated.score
        return [(f"Score on {summary.evaluated.split}", numbers.score(score.hard), _n(score))]
    if summary.noise is not None:
        spread = summary.noise.spread
        return [("Spread of one document", numbers.score(spread), "between its measurements")]
    return [
        _gained("Validation", summary.initial.val, summary.best.val),
        _gained("Test", summary.initial.test, summary.best.test),
    ]


def _gained(name: str, before: Score | None, after: Score | None) -> tuple[str, str, str]:
    start = numbers.score(before.hard if before else None)
    return name, numbers.score(after.hard if after else None), f"from {start}, best document"


def _n(score: Score) -> str:
    return f"on {numbers.plural(score.n, 'task')}"


def _steps(summary: Summary) -> str:
    return numbers.plural(summary.steps, "step") if summary.mode == "train" else summary.mode


def curve_section(state: RunState) -> list[Html]:
    """Give the curve; nothing for a run that has none."""
    rows = curve_rows(state)
    if not rows:
        return []
    metric = state.plan.settings.evaluation.gate_metric
    words = f"Scores are {metric}; e1 is the end of epoch 1."
    return [curve_plot(rows), curve_legend(), tag("p", words, class_="soft small")]


def score_section(summary: Summary) -> list[Html]:
    """Give every measured document with n, interval and coverage."""
    scores = _measured(summary)
    plot = interval_plot(scores)
    rows = [_score_row(name, score) for name, score in scores.items() if score]
    if not rows:
        return [tag("p", "Nothing has been measured yet.", class_="soft")]
    columns = ("Document", "Hard", "95 % interval", "Soft", "Tasks", "Coverage")
    said = [*step_lines(summary)] if summary.mode == "train" else []
    return [
        *([plot] if plot else []),
        tag("div", _table(columns, rows, numeric=range(1, 6)), class_="scroll"),
        *(tag("p", line) for line in (*said, *noise_lines(summary.noise))),
    ]


def _measured(summary: Summary) -> dict[str, Score | None]:
    if summary.evaluated is not None:
        return {f"document, {summary.evaluated.split}": summary.evaluated.score}
    if summary.noise is not None:
        return {f"time {n}, val": arm for n, arm in enumerate(summary.noise.arms, start=1)}
    documents: dict[str, InitialDocument | Document] = {
        "initial": summary.initial,
        "best": summary.best,
    }
    if summary.final.hash != summary.best.hash:
        documents["final"] = summary.final
    found = {f"{name}, validation": one.val for name, one in documents.items()}
    return {**found, **{f"{name}, test": one.test for name, one in documents.items()}}


def _score_row(name: str, score: Score) -> Sequence[str]:
    interval = f"{score.interval[0]:.2f} to {score.interval[1]:.2f}" if score.interval else "-"
    return (
        name,
        numbers.score(score.hard),
        interval,
        numbers.score(score.soft),
        numbers.count(score.n),
        numbers.share(score.coverage),
    )


def spend_section(summary: Summary, *, measured_work: bool) -> list[Html]:
    """Give calls by role, tokens and money; says so where only the log is there."""
    if not measured_work:
        return [tag("p", "What it spent is written down when the run pauses or ends.")]
    calls = summary.calls
    by_role = {"target": calls.target, "optimizer": calls.optimizer, "judge": calls.judge}
    rows = [
        ("Cost", numbers.dollars(summary.cost_usd)),
        ("Tokens in", numbers.count(summary.tokens.input)),
        ("Tokens out", numbers.count(summary.tokens.output)),
        ("Results from the cache", numbers.count(summary.cache_hits)),
        ("Executions", numbers.count(summary.executions)),
        ("Calls paid again after a loss", numbers.count(summary.repaid_calls)),
        ("Calls never answered", numbers.count(summary.unconfirmed_calls)),
    ]
    return [
        bar_plot({role: count for role, count in by_role.items() if count}, "call"),
        _table(("", ""), rows, numeric=(1,)),
    ]


def made_section(state: RunState, spec: str) -> list[Html]:
    """Give what a repetition needs: hashes, models, settings."""
    plan = state.plan
    rows = [
        ("Run", state.run),
        ("Specification", plan.identity),
        ("Initial document", plan.initial_key),
        ("Best document", state.best),
        *((f"Model: {role}", f"{use.backend}, fingerprint {short(use.fingerprint)}")
          for role, use in plan.backends.items()),
    ]  # fmt: skip
    parts = [_table(("", ""), rows)]
    return [*parts, tag("h3", "Settings"), tag("pre", spec)] if spec else parts


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()
) -> Html:
    kinds = ["number" if index in numeric else None for index in range(len(columns))]
    head = [
        tag("th", name, scope="col", class_=kind) for name, kind in zip(columns, kinds, strict=True)
    ]
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            [tag("td", cell, class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)],
        )
        for row in rows
    ]
    named = any(columns)
    return tag("table", tag("thead", tag("tr", head)) if named else None, tag("tbody", body))
