"""The end of an epoch: what was compared, the slow update and its gate, the meta skill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from producer.records import OptimizerRecord
from producer.view.gate_part import gate_part, heading
from producer.view.outcomes import meta_words, outcome_of, skip_words
from producer.view.printable import indented, safe
from producer.view.step_page import call_lines
from producer.view.words import compared_words, pairs_by_change, proposed_words
from skillopt.domain.run import EpochEnd, RunState


def epoch_page(
    state: RunState, end: EpochEnd, calls: Sequence[OptimizerRecord] = ()
) -> list[RenderableType]:
    """Give an epoch's end from its comparison to its lessons; what it did not reach is left out.

    `calls` are the optimizer calls recorded of it.
    """
    compared = end.compared
    parts: list[RenderableType] = [
        Text(f"End of epoch {compared.epoch}", style="bold"),
        safe(compared_words(compared)),
    ]
    for change, items in pairs_by_change(compared.pairs).items():
        parts.append(safe(f"  {change}: {', '.join(items)}"))
    if end.proposed:
        parts += [heading("Slow update"), safe(proposed_words(end.proposed))]
    if end.skipped:
        parts += [heading("Slow update"), safe(f"skipped: {skip_words(end.skipped)}")]
    parts += gate_part(state, end.proposed, end.gated)
    if end.meta:
        parts += [heading("Meta skill (for the optimizer only)")]
        if end.meta.status == "kept" or end.meta.problem:
            parts.append(safe(meta_words(end.meta), "yellow"))
        parts.append(indented(end.meta.content or "(empty)"))
    return [*parts, *call_lines(calls)]


def epoch_row(end: EpochEnd) -> dict[str, Any]:
    """Give an epoch's end as a program reads it."""
    gated = end.gated
    return {
        "epoch": end.compared.epoch,
        "outcome": outcome_of(end),
        "reason": gated.reason if gated else end.skipped.detail if end.skipped else "",
        "new_best": gated.new_best if gated else False,
        "candidate": end.proposed.skill if end.proposed else None,
        "candidate_score": gated.candidate_score if gated else None,
        "current_score": gated.current_score if gated else None,
        "meta_skill": end.meta.status if end.meta else None,
    }
