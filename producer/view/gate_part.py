"""A gate in full: verdict, grounds, both arms task by task, and the change it decided on."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.view import numbers
from producer.view.diff import documents_diff
from producer.view.outcomes import gate_words, measurement_words
from producer.view.printable import safe
from skillopt.domain.events import Gated, Proposed
from skillopt.domain.fingerprint import short
from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.run import RunState


def heading(words: str) -> Text:
    return Text(f"\n{words}", style="bold cyan")


def gate_part(
    state: RunState, proposed: Proposed | None, gated: Gated | None
) -> list[RenderableType]:
    """Give the gate of a candidate and what the candidate changes, as far as they are there."""
    parts: list[RenderableType] = []
    if proposed and gated:
        parts += [heading("Gate"), *_gate(state, proposed, gated)]
    if proposed:
        parts += [heading("Change of the document"), candidate_diff(state, proposed)]
    return parts


def candidate_diff(state: RunState, proposed: Proposed) -> Text:
    """Give what a candidate changes in the documents it came from."""
    return documents_diff(
        state.texts[proposed.parent],
        proposed.documents,
        before_name=f"current {short(proposed.parent)}",
        after_name=f"candidate {short(proposed.skill)}",
    )


def item_changes(state: RunState, proposed: Proposed, gated: Gated) -> Table:
    """Give both arms of the gate task by task."""
    before = state.measured.get((proposed.parent, gated.measurement.split))
    table = Table("task", "current", "candidate", "change", box=None, pad_edge=False)
    for item, score in gated.measurement.items.items():
        old = before.items.get(item) if before else None
        table.add_row(safe(item), _item(old), _item(score), _change(item, score, gated))
    return table


def _gate(state: RunState, proposed: Proposed, gated: Gated) -> list[RenderableType]:
    tasks = len(state.plan.splits.of(gated.measurement.split))
    parts: list[RenderableType] = [
        safe(gate_words(gated), "bold"),
        safe(
            f"{gated.metric}: {numbers.score(gated.current_score)} before, "
            f"{numbers.score(gated.candidate_score)} with the candidate, "
            f"on {numbers.plural(gated.pairs, 'task')} that both have a score for"
        ),
        safe(_coverage(gated.measurement)),
    ]
    parts += [safe(line) for line in _grounds(gated, tasks)]
    return [*parts, item_changes(state, proposed, gated)]


def _grounds(gated: Gated, tasks: int) -> list[str]:
    """Say in whole sentences what else decided."""
    lines = []
    if gated.level is not None:
        tested = gated.p_value is not None
        chance = f"{gated.p_value:.3g}" if tested else "not needed for the verdict"
        lines.append(
            f"chance of such a gain between equal documents: {chance}; "
            f"this gate may spend {gated.level:.3g} of the run's error"
        )
    if gated.verdict == "underpowered":
        lines.append("the candidate looks better, but no result of this size could be accepted")
    if gated.early:
        decided = len(gated.measurement.items)
        lines.append(
            f"decided after {decided} of {tasks} tasks: "
            "the others could not have changed the verdict"
        )
    if gated.forced:
        lines.append("forced: the candidate becomes current whatever the verdict")
    return lines


def _coverage(measurement: Measurement) -> str:
    return f"{measurement_words(measurement)}, coverage {numbers.share(measurement.coverage)}"


def _item(score: ItemScore | None) -> str:
    if score is None:
        return numbers.UNKNOWN
    if score.status != "scored":
        return score.status.replace("_", " ")
    return f"{numbers.score(score.hard)} / {numbers.score(score.soft)}"


def _change(item: str, score: ItemScore, gated: Gated) -> Text:
    if item in gated.improved:
        return Text("improved", style="green")
    if item in gated.regressed:
        return Text("regressed", style="red")
    return Text("same" if score.status == "scored" else numbers.UNKNOWN, style="dim")
