"""What a report says of each step: why it came out as it did, task by task, and what it changed."""

from __future__ import annotations

from collections.abc import Iterator

from producer.blame import blame
from producer.records import RolloutRecord
from producer.run_folder import RunFolder
from producer.timeline import Part, in_order
from producer.view import numbers
from producer.view.diff import documents_diff
from producer.view.explaining import Explanation, explain_epoch, explain_step
from producer.view.outcomes import outcome_of
from producer.view.printable import one_line
from producer.view.report.markup import Html, tag
from skillopt.domain.events import Gated, Proposed
from skillopt.domain.fingerprint import short
from skillopt.domain.run import RunState, StepState
from skillopt.loop.gate import EPSILON, scores

#: Tasks behind a line that are named.
_NAMED = 3
#: What a judge said is shown so far; the records have it whole.
_FEEDBACK = 300
_KINDS = {"+": "added", "-": "removed", "@": "place"}


def step_sections(state: RunState, folder: RunFolder) -> Iterator[Html]:
    """Give each step and each end of an epoch, in order."""
    for part in in_order(state):
        told = _explained(state, part)
        title, _, _ = told.title.partition(": ")
        outcome = outcome_of(part)
        yield tag(
            "h3", title, " ", tag("span", outcome, class_=f"badge {outcome.partition(' ')[0]}")
        )
        yield tag("p", " ".join(told.sentences))
        if part.gated and part.proposed:
            yield from _tasks(state, folder, part, part.proposed, part.gated)
        if part.proposed:
            yield document_diff(state, part.proposed.parent, part.proposed.skill)


def document_diff(state: RunState, before: str, after: str) -> Html:
    """Give what changed between two states of the documents."""
    text = documents_diff(
        state.texts[before],
        state.texts[after],
        before_name=short(before),
        after_name=short(after),
    ).plain
    if before == after:
        return tag("p", "The document is as it was given.", class_="soft")
    lines = [tag("span", line or " ", class_=_kind(line)) for line in text.split("\n")]
    return tag("pre", lines, class_="diff")


def blame_table(state: RunState) -> Html:
    """Say of each line of the best document which step brought it, and what that gained."""
    rows = []
    for line in blame(state, state.best):
        origin = "as given" if line.step == 0 else f"step {line.step}"
        origin = f"epoch end after {origin}" if line.source == "slow_update" else origin
        rows.append(
            tag(
                "tr",
                tag("td", str(line.number), class_="number soft"),
                tag("td", tag("code", line.text)),
                tag("td", origin, _behind(line.tasks), class_="soft small"),
                tag("td", "" if line.gain is None else f"{line.gain:+.3f}", class_="number"),
            )
        )
    head = [
        tag("th", name, scope="col", class_=kind)
        for name, kind in (("", "number"), ("Line", None), ("From", None), ("Gain", "number"))
    ]
    return tag("table", tag("thead", tag("tr", head)), tag("tbody", rows), class_="blame")


def _explained(state: RunState, part: Part) -> Explanation:
    if isinstance(part, StepState):
        return explain_step(state, part.started.step)
    return explain_epoch(state, part.compared.epoch)


def _tasks(
    state: RunState, folder: RunFolder, part: Part, proposed: Proposed, gated: Gated
) -> list[Html]:
    """Give the tasks that the candidate changed, with what its judge said."""
    settings = state.plan.settings.evaluation
    before = state.measured.get((proposed.parent, gated.measurement.split))
    old = scores(before, settings) if before else {}
    new = scores(gated.measurement, settings)
    moved = {
        item: new[item] - old[item]
        for item in gated.measurement.items
        if item in old and item in new and abs(new[item] - old[item]) > EPSILON
    }
    if not moved:
        return []
    said = _feedback(folder, part, set(moved))
    rows = [
        tag(
            "tr",
            tag("th", item, scope="row"),
            tag("td", numbers.score(old[item]), class_="number"),
            tag("td", numbers.score(new[item]), class_=f"number {_tone(gain)}"),
            tag("td", said.get(item) or f"{_tone(gain)} than before", class_="small soft"),
        )
        for item, gain in sorted(moved.items(), key=lambda one: one[1])
    ]
    head = [
        tag("th", name, scope="col", class_=kind)
        for name, kind in (
            ("Task that changed", None),
            ("Current", "number"),
            ("Candidate", "number"),
            ("Why", None),
        )
    ]
    return [tag("table", tag("thead", tag("tr", head)), tag("tbody", rows))]


def _feedback(folder: RunFolder, part: Part, tasks: set[str]) -> dict[str, str]:
    """Read what the judge said of the candidate's answers, where that is recorded."""
    name = (
        f"step-{part.started.step:04d}-3-gate"
        if isinstance(part, StepState)
        else f"epoch-{part.compared.epoch:02d}-3-gate"
    )
    found: dict[str, str] = {}
    for record in folder.records_of(name) if name in folder.record_names() else ():
        if isinstance(record, RolloutRecord) and record.item in tasks and record.feedback:
            found.setdefault(record.item, one_line(record.feedback, _FEEDBACK))
    return found


def _tone(gain: float) -> str:
    return "better" if gain > 0 else "worse"


def _kind(line: str) -> str | None:
    return "place" if line.startswith(("--- ", "+++ ")) else _KINDS.get(line[:1])


def _behind(tasks: tuple[str, ...]) -> str:
    if not tasks:
        return ""
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    return f", from {', '.join(tasks[:_NAMED])}{more}"
