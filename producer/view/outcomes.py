"""Measurements, verdicts, and what came of steps and slow updates, in words."""

from __future__ import annotations

from producer.timeline import Part
from producer.view import numbers
from producer.view.printable import one_line
from skillopt.domain.events import Gated, MetaLearned, Skipped
from skillopt.domain.fingerprint import short
from skillopt.domain.measurement import Measurement
from skillopt.domain.run import StepState

VERDICTS = {
    "accept": "accepted",
    "reject": "rejected",
    "underpowered": "underpowered",
    "indecisive": "undecided",
}
OUTCOME_STYLES = {
    "accepted": "green",
    "rejected": "red",
    "underpowered": "yellow",
    "kept by force": "yellow",
    "undecided": "yellow",
    "skipped": "dim",
}
UNDER_WAY = "under way"

_SKIPS = {
    "no_edits": "no edit was proposed",
    "no_change": "the edits leave the document as it is",
    "already_rejected": "this text was tried before",
    "too_long": "the candidate is too long",
    "no_rewrite": "no usable rewrite came of it",
    "no_content": "no usable guidance came of it",
    "copied": "the candidate repeats the text of training tasks",
}
_HOLES = {"invalid": "invalid", "missing": "missing", "left_out": "left out"}


def measurement_words(measurement: Measurement) -> str:
    """Say what a document scored, on how many tasks, and what is missing."""
    return (
        f"document {short(measurement.skill)} on {measurement.split}: "
        f"hard {numbers.score(measurement.hard)}, soft {numbers.score(measurement.soft)} "
        f"({item_counts(measurement)})"
    )


def item_counts(measurement: Measurement) -> str:
    """Say how many tasks were scored, and how many were not and why."""
    words = [f"n={measurement.n}"]
    for status, word in _HOLES.items():
        count = sum(score.status == status for score in measurement.items.values())
        if count:
            words.append(f"{count} {word}")
    return ", ".join(words)


def skip_words(event: Skipped) -> str:
    detail, words = one_line(event.detail), _SKIPS[event.reason]
    return f"{words} ({detail})" if detail not in ("", words) else words


def gate_words(event: Gated) -> str:
    """Say the gate's verdict and its reason, without the step."""
    best = ", new best" if event.new_best else ""
    return f"{_verdict(event)}{best}: {one_line(event.reason, 300)}"


def _verdict(event: Gated) -> str:
    """Say whether the candidate was kept, also if the gate was against it."""
    words = VERDICTS[event.verdict] + (" early" if event.early else "")
    return f"{words}, kept by force" if _against(event) else words


def outcome_of(part: Part) -> str:
    """Give what came of a step or slow update in a word or two, or "under way"."""
    if part.skipped:
        return "skipped"
    if part.gated:
        return "kept by force" if _against(part.gated) else VERDICTS[part.gated.verdict]
    if not isinstance(part, StepState) and part.meta:
        return "meta skill only"
    return UNDER_WAY


def outcome_words(part: Part) -> str:
    """Say what came of a step or an epoch's end and why, without its number."""
    if part.skipped:
        words = f"skipped: {skip_words(part.skipped)}"
    else:
        words = gate_words(part.gated) if part.gated else UNDER_WAY
    if isinstance(part, StepState):
        return words
    slow = [f"slow update {words}"] if part.proposed or part.skipped else []
    meta = [meta_words(part.meta)] if part.meta else []
    return "; ".join([*slow, *meta]) or UNDER_WAY


def meta_words(event: MetaLearned) -> str:
    if event.status == "kept":
        problem = f" ({one_line(event.problem)})" if event.problem else ""
        return f"no usable meta skill, the last one stays{problem}"
    again = ", asked twice" if event.status == "repaired" else ""
    return f"meta skill learnt{again}: {one_line(event.content)}"


def _against(event: Gated) -> bool:
    return event.adopted and event.verdict != "accept"
