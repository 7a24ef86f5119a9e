"""Why a step or an epoch's end came out as it did, in sentences; all from the run's log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from producer.timeline import Part, in_order
from producer.view import numbers
from producer.view.changes import change_count
from producer.view.outcomes import meta_words, skip_words
from producer.view.printable import one_line
from skillopt.domain.edits import EditReport
from skillopt.domain.events import Compared, Gated, Proposed, Reflected
from skillopt.domain.fingerprint import short
from skillopt.domain.run import EpochEnd, RunState, StepState
from skillopt.errors import InputError

_NAMED = 5
_KINDS = {"failure": "failed attempts", "success": "successes", "contrast": "mixed attempts"}


@dataclass(frozen=True)
class Explanation:
    title: str
    sentences: tuple[str, ...]


def explain_step(state: RunState, number: int) -> Explanation:
    """Explain one step. Raises InputError if the run has none of that number."""
    if not 1 <= number <= len(state.steps):
        there = f"1 to {len(state.steps)}" if state.steps else "none yet"
        raise InputError(f"--step: the run has no step {number!r}; its steps: {there}")
    step = state.steps[number - 1]
    title = f"Step {number} (epoch {step.started.epoch}): {_ending(step)}"
    return Explanation(title, tuple(_step_sentences(state, step)))


def explain_epoch(state: RunState, number: int) -> Explanation:
    """Explain the end of one epoch. Raises InputError if there is nothing to explain."""
    end = state.epoch_ends.get(number)
    if end is None:
        there = ", ".join(map(str, state.epoch_ends)) or "none"
        raise InputError(
            f"--epoch: nothing happened at the end of epoch {number!r}; epochs with an end: {there}"
        )
    return Explanation(
        f"End of epoch {number}: {_ending(end)}", tuple(_epoch_sentences(state, end))
    )


def explain_run(state: RunState) -> list[Explanation]:
    """Explain everything that has happened, in order."""
    return [
        explain_step(state, part.started.step)
        if isinstance(part, StepState)
        else explain_epoch(state, part.compared.epoch)
        for part in in_order(state)
    ]


def _ending(part: Part) -> str:
    if part.skipped:
        return "no candidate"
    if part.gated is None:
        return "under way"
    words = {
        "accept": "accepted",
        "reject": "rejected",
        "underpowered": "not accepted, too few differences to tell",
        "indecisive": "undecided",
    }[part.gated.verdict]
    forced = part.gated.forced and part.gated.verdict != "accept"
    return f"{words}, kept by force" if forced and part.gated.adopted else words


def _step_sentences(state: RunState, step: StepState) -> Iterator[str]:
    started = step.started
    tasks = numbers.plural(len(started.items), "train task")
    yield f"It tried {tasks} with document {short(started.skill)}."
    if step.reflected:
        yield from _reflected(step.reflected)
    if step.merged:
        blocked = len(step.merged.blocked) + sum(
            len(group.blocked) for group in (step.reflected.groups if step.reflected else ())
        )
        yield f"Merging left {change_count(step.merged.edits)}."
        if blocked:
            yield f"The copy guard took out {numbers.plural(blocked, 'change')}."
    if step.budget:
        why = f": {one_line(step.budget.reasoning)}" if step.budget.reasoning else ""
        yield f"The optimizer chose to apply {step.budget.edit_budget} of them{why}."
    if step.selected and step.merged and len(step.selected.edits) < len(step.merged.edits):
        limit = "" if step.edit_budget is None else f", the step's limit being {step.edit_budget}"
        yield f"Of these, {change_count(step.selected.edits)} went on{limit}."
    if step.noted and step.noted.added:
        yield f"{numbers.plural(len(step.noted.added), 'reminder')} went into the appendix."
    yield from _candidate(state, step)


def _reflected(event: Reflected) -> Iterator[str]:
    batch = event.batch
    if batch.hard is not None:
        yield f"Their mean score was hard {batch.hard:.3f}, soft {batch.soft or 0:.3f}."
    for group in event.groups:
        about = f"An analyst saw {_KINDS[group.kind]} at {_named(group.items)}"
        if group.status == "dropped":
            yield f"{about}; its reply was unusable: {one_line(group.problem)}."
            continue
        found = "; ".join(one_line(line, 120) for line in group.summary[:2])
        words = f" and found: {found}" if found else ""
        yield f"{about}{words}. It proposed {change_count(group.edits)}."


def _epoch_sentences(state: RunState, end: EpochEnd) -> Iterator[str]:
    yield from _compared(end.compared)
    yield from _candidate(state, end)
    if end.meta:
        words = meta_words(end.meta).rstrip(".")
        yield f"{words[:1].upper()}{words[1:]}."


def _compared(event: Compared) -> Iterator[str]:
    tasks = numbers.plural(len(event.sampled), "train task")
    yield (
        f"It tried {tasks} with the document of the epoch before ({short(event.previous)}) and "
        f"with the present one ({short(event.current)})."
    )
    counts: dict[str, int] = {}
    for pair in event.pairs:
        counts[pair.change] = counts.get(pair.change, 0) + 1
    words = ", ".join(f"{count} {change.replace('_', ' ')}" for change, count in counts.items())
    yield f"Of the pairs that count: {words or 'none'}."


def _candidate(state: RunState, part: Part) -> Iterator[str]:
    if part.skipped:
        yield f"There was no candidate to measure: {skip_words(part.skipped)}."
        yield from _lost(part.skipped.reports)
    if part.proposed:
        yield from _proposed(part.proposed)
    if part.gated:
        yield from _gated(state, part.gated)


def _proposed(event: Proposed) -> Iterator[str]:
    how = {
        "edits": f"{numbers.plural(sum(r.applied for r in event.reports), 'edit')} applied",
        "rewrite": "the document was rewritten",
        "compressed": "the document was shortened to fit max_skill_tokens",
        "guidance": "new guidance stands in its slow-update part",
    }[event.how]
    yield f"The candidate is {short(event.skill)}: {how}."
    yield from _lost(event.reports)
    if event.copied_from:
        yield f"Careful: it repeats text of {_named(event.copied_from)}."


def _lost(reports: Sequence[EditReport]) -> Iterator[str]:
    lost = [report for report in reports if not report.applied]
    if lost:
        words = ", ".join(
            f"{report.op} ({report.status.removeprefix('skipped_').replace('_', ' ')})"
            for report in lost
        )
        yield f"Not applied: {words}."


def _gated(state: RunState, gated: Gated) -> Iterator[str]:
    split, whole = gated.measurement.split, state.plan.splits.of(gated.measurement.split)
    yield (
        f"The gate compared both documents on {numbers.plural(gated.pairs, f'{split} task')} "
        f"({gated.metric}): {numbers.score(gated.current_score)} before, "
        f"{numbers.score(gated.candidate_score)} with the candidate."
    )
    if gated.improved:
        yield f"Better: {_named(gated.improved)}."
    if gated.regressed:
        yield f"Worse: {_named(gated.regressed)}."
    if gated.early:
        seen = len(gated.measurement.items)
        yield f"It stopped after {seen} of {len(whole)} tasks: the rest could not change that."
    if gated.p_value is not None and gated.level is not None and _gained(gated):
        yield (
            f"Between equal documents such a gain has a chance of {gated.p_value:.3g}; this gate "
            f"accepts up to {gated.level:.3g}."
        )
    yield f"Verdict: {gated.reason}."
    yield _consequence(gated)


def _gained(gated: Gated) -> bool:
    return (gated.candidate_score or 0.0) > (gated.current_score or 0.0)


def _consequence(gated: Gated) -> str:
    if gated.new_best:
        return "It became the current and the best document."
    if gated.adopted:
        return "It became the current document; the best one stayed."
    if gated.verdict == "indecisive":
        return "Nothing was decided: the missing results are tried again when the run continues."
    return "The current document stayed, and later analysts are told what did not help."


def _named(tasks: Sequence[str]) -> str:
    shown = ", ".join(one_line(task, 60) for task in tasks[:_NAMED])
    more = len(tasks) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown
