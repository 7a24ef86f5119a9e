"""Contrasts: tasks that pass and fail with the same document, one attempt of each beside the other.

What such a pair differs in is what the document should say; neither the task nor the model is to
blame for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.loop.attempt_text import AttemptText, Seen, verdict_lines
from skillopt.loop.evaluate import Attempt


def mixed_items(scored: Sequence[Attempt]) -> frozenset[str]:
    """Name the items that have both a passing and a failing attempt."""
    passing = {attempt.item.id for attempt in scored if passed(attempt)}
    failing = {attempt.item.id for attempt in scored if not passed(attempt)}
    return frozenset(passing & failing)


def passed(attempt: Attempt) -> bool:
    """Whether a scored attempt met everything; a part of it is a failure."""
    return attempt.judge_line is not None and (attempt.judge_line.hard or 0.0) >= 1.0


def contrasts(seen: Sequence[Seen], text: AttemptText) -> str:
    """Show each task with its first attempt that passed and its first that failed."""
    by_item: dict[str, list[Seen]] = {}
    for one in seen:
        by_item.setdefault(one.item.id, []).append(one)
    return "\n\n".join(
        _contrast(number, attempts, text)
        for number, attempts in enumerate(by_item.values(), start=1)
    )


def _contrast(number: int, attempts: Sequence[Seen], text: AttemptText) -> str:
    good = [one for one in attempts if one.passed]
    bad = [one for one in attempts if not one.passed]
    return "\n".join(
        [
            f"### Task {number}",
            *text.question(attempts[0]),
            f"It passed in {len(good)} of {len(attempts)} attempts.",
            "Passed:",
            text.answer(good[0]),
            "Failed:",
            text.answer(bad[0]),
            *verdict_lines(bad[0].judgement, "Criteria that the failed attempt missed:"),
        ]
    )
