"""What changed in a run's documents, and where each line comes from."""

from __future__ import annotations

from typing import Any

from producer import blame
from producer.queue.models import DiffPage
from producer.revisions import Revision, find_revision
from producer.view.diff import documents_diff
from skillopt.domain.fingerprint import short
from skillopt.domain.run import RunState


def diff_page(state: RunState, label: str) -> DiffPage:
    """Give what one document changes: a candidate (a step, "e2") in the one it came from, any
    other in the one that was given. Raises InputError, with what there is, for another label.
    """
    after = find_revision(state, label, "label")
    before = _before(state, label)
    text = documents_diff(
        before.documents, after.documents, before_name=before.label, after_name=after.label
    )
    same = before.documents == after.documents
    return DiffPage(
        label=label,
        before=before.label,
        after=after.label,
        lines=() if same else tuple(text.plain.split("\n")),
    )


def _before(state: RunState, label: str) -> Revision:
    candidates = {str(step.started.step): step.proposed for step in state.steps}
    candidates |= {f"e{epoch}": end.proposed for epoch, end in state.epoch_ends.items()}
    proposed = candidates.get(label)
    if proposed is None:
        return find_revision(state, "initial", "label")
    parent = proposed.parent
    return Revision(f"current {short(parent)}", parent, state.texts[parent])


def blame_rows(state: RunState) -> list[dict[str, Any]]:
    """Give the lines of the best document, each with what brought it."""
    best = find_revision(state, "best", "label")
    return [line.model_dump(mode="json") for line in blame.blame(state, best.key)]
