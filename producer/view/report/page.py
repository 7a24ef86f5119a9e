"""Puts a run's report together; all of it comes from the run's folder."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from producer.run_folder import RunFolder
from producer.summary import Summary
from producer.summary_from_log import summary_from_log
from producer.view.printable import one_line
from producer.view.report.markup import Html, tag
from producer.view.report.sections import (
    curve_section,
    figures,
    instant,
    made_section,
    score_section,
    spend_section,
)
from producer.view.report.steps import blame_table, document_diff, step_sections
from producer.view.stages import status_words
from skillopt.domain.run import RunState
from skillopt.state.ports import LogEntry

_STYLE = Path(__file__).with_name("style.css")


def report_html(folder: RunFolder) -> str:
    """Give a run's report as one HTML document, as far as the run has come.

    Raises InputError if the folder is not that of a run, or its run has not begun.
    """
    state, entries = folder.state(), folder.read_entries()
    stored = folder.read_summary()
    summary = stored or summary_from_log(folder, state)
    sections = list(_sections(state, folder, summary, measured_work=stored is not None))
    body = [
        tag("header", _heading(state, entries)),
        tag(
            "main",
            figures(summary, measured_work=stored is not None),
            [tag("p", f"Careful: {one_line(words, 500)}", class_="warning")
             for words in summary.warnings],
            _contents([title for title, _ in sections]),
            [_section(number, title, parts)
             for number, (title, parts) in enumerate(sections, start=1)],
        ),
    ]  # fmt: skip
    return _document(state.plan.name, body)


def _heading(state: RunState, entries: list[LogEntry]) -> list[Html]:
    plan = state.plan
    whose = f"{plan.owner}{f' of {plan.team}' if plan.team else ''} · " if plan.owner else ""
    return [
        tag("h1", plan.name, " ", tag("span", state.status, class_=f"badge {state.status}")),
        tag("p", status_words(state), class_="lead"),
        tag(
            "p",
            f"{state.run} · {whose}{instant(entries[0].at)} to {instant(entries[-1].at)}",
            class_="soft small",
        ),
    ]


def _sections(
    state: RunState, folder: RunFolder, summary: Summary, *, measured_work: bool
) -> Iterable[tuple[str, list[Html]]]:
    trains = state.plan.mode == "train"
    if curve := curve_section(state):
        yield "Score by step", curve
    yield "Scores", score_section(summary)
    if trains:
        yield "What changed", [document_diff(state, state.plan.initial_key, state.best)]
        steps = list(step_sections(state, folder))
        yield "Step by step", steps or [tag("p", "No step has begun yet.", class_="soft")]
        yield "Where each line comes from", [blame_table(state)]
    yield "Spend", spend_section(summary, measured_work=measured_work)
    yield "How it was made", made_section(state, _spec_text(folder))


def _spec_text(folder: RunFolder) -> str:
    """Read the settings as the folder has them for people; a lost file costs only that."""
    try:
        return (folder.path / "spec.yaml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _contents(titles: list[str]) -> Html:
    links = [
        tag("li", tag("a", title, href=f"#part-{number}"))
        for number, title in enumerate(titles, start=1)
    ]
    return tag("nav", tag("ul", links, class_="contents"), aria_label="Contents")


def _section(number: int, title: str, parts: list[Html]) -> Html:
    name = f"part-{number}"
    return tag("section", tag("h2", title, id=name), parts, aria_labelledby=name)


def _document(title: str, body: list[Html]) -> str:
    style = _STYLE.read_text(encoding="utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title}: report"),
        tag("style", Html(style)),
    ]
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"
