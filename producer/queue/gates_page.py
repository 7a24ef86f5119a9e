"""Every gate of a run with its reasons, and both documents task by task."""

from __future__ import annotations

from collections.abc import Mapping

from producer.folder.rollouts import Scope, locate
from producer.queue.models import GatePage, TaskChange
from producer.queue.recorded import RecordedRun
from producer.records import CallRecord, RolloutRecord
from producer.timeline import Part, in_order
from producer.view.explaining import explain_epoch, explain_step
from producer.view.outcomes import outcome_of
from skillopt.domain.events import Gated, Proposed
from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.run import RunState, StepState
from skillopt.loop.gate import EPSILON, scores

#: Between what a judge said of several samples.
_BETWEEN_SAMPLES = "\n\n"


def label_of(part: Part) -> str:
    """Name a step ("3") or the end of an epoch ("e1") as curves and differences do."""
    if isinstance(part, StepState):
        return str(part.started.step)
    return f"e{part.compared.epoch}"


def gated_parts(state: RunState) -> list[Part]:
    """Give the steps and ends of epochs that have come to a gate, in order."""
    return [part for part in in_order(state) if part.gated and part.proposed]


def gate_page(recorded: RecordedRun, part: Part) -> GatePage:
    """Give one gate in full; `part` is one of `gated_parts`."""
    state, gated, proposed = recorded.known.state, part.gated, part.proposed
    assert gated is not None and proposed is not None
    if isinstance(part, StepState):
        explained = explain_step(state, part.started.step)
        file = f"step-{part.started.step:04d}-3-gate"
    else:
        explained = explain_epoch(state, part.compared.epoch)
        file = f"epoch-{part.compared.epoch:02d}-3-gate"
    return GatePage(
        label=label_of(part),
        step=gated.step,
        outcome=outcome_of(part),
        reason=gated.reason,
        sentences=explained.sentences,
        candidate_score=gated.candidate_score,
        current_score=gated.current_score,
        new_best=gated.new_best,
        early=gated.early,
        p_value=gated.p_value,
        coverage=gated.measurement.coverage,
        tasks=_tasks(recorded, gated, proposed, recorded.of_file(file)),
    )


def _tasks(
    recorded: RecordedRun, gated: Gated, proposed: Proposed, records: list[CallRecord]
) -> tuple[TaskChange, ...]:
    state = recorded.known.state
    settings = state.plan.settings.evaluation
    before = state.measured.get((proposed.parent, gated.measurement.split))
    old = {} if before is None else scores(before, settings)
    new = scores(gated.measurement, settings)
    attempts: dict[str, list[RolloutRecord]] = {}
    for record in records:
        if isinstance(record, RolloutRecord):
            attempts.setdefault(record.item, []).append(record)
    current = _current_records(recorded, gated.measurement, proposed.parent)
    return tuple(
        TaskChange(
            task=item,
            current=old.get(item),
            candidate=new.get(item),
            change=_change(item, score, old, new),
            feedback=_feedback(attempts.get(item, [])),
            candidate_records=tuple(one.rollout for one in attempts.get(item, [])),
            current_records=current.get(item, ()),
        )
        for item, score in gated.measurement.items.items()
    )


def _change(item: str, score: ItemScore, old: Mapping[str, float], new: Mapping[str, float]) -> str:
    if score.status != "scored":
        return score.status
    if item not in old:
        return "missing"
    gain = new[item] - old[item]
    if abs(gain) <= EPSILON:
        return "same"
    return "better" if gain > 0 else "worse"


def _feedback(attempts: list[RolloutRecord]) -> str:
    """Give what the judge said of the candidate's answers, else why there is no score."""
    said = [one.feedback.strip() or one.problem for one in attempts]
    return _BETWEEN_SAMPLES.join(dict.fromkeys(words for words in said if words))


def _current_records(
    recorded: RecordedRun, measurement: Measurement, document: str
) -> dict[str, tuple[str, ...]]:
    """Name the attempts of the document that the candidate was compared with, by task."""
    state = recorded.known.state
    known = {item.id: item for item in state.plan.splits.of(measurement.split)}
    scope = Scope(
        stage="",
        skill=document,
        split=measurement.split,
        items=[known[item] for item in measurement.items if item in known],
        samples=range(state.plan.settings.evaluation.samples),
    )
    found: dict[str, tuple[str, ...]] = {}
    for attempt in locate(state, recorded.facts, scope).attempts:
        if attempt.reply_line is not None:
            found[attempt.item.id] = (*found.get(attempt.item.id, ()), attempt.rollout)
    return found
