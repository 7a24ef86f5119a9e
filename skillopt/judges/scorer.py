"""What every kind of judge offers, and what all of them do alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from skillopt.domain.results import CriterionResult, InvalidBody, JudgementBody, ReplyBody

JudgeT_contra = TypeVar("JudgeT_contra", contravariant=True)


class Scorer(Protocol[JudgeT_contra]):
    """Scores the replies of one kind of judge."""

    @property
    def version(self) -> int:
        """Raised whenever the same judge and reply may score differently than before."""
        ...

    def problems(self, judge: JudgeT_contra) -> list[str]:
        """Say in words what makes a judge unusable; empty if nothing does."""
        ...

    def score(self, judge: JudgeT_contra, reply: ReplyBody) -> JudgementBody | InvalidBody:
        """Score a reply by a judge without problems; `InvalidBody` if it cannot be scored."""
        ...


def missing_answer(reply: ReplyBody) -> str | None:
    """Say why a reply is no answer at all; None if it is one.

    No criterion holds for such a reply, not even a limit that nothing at all would keep.
    """
    if reply.finish_reason == "refusal":
        return "the model refused to answer"
    if not reply.text.strip():
        return "the answer is empty"
    return None


def blank_answers(kind: str, answers: Sequence[str], key: str = "answers") -> list[str]:
    """Say which expected answers are missing or blank."""
    if not answers:
        return [f"{kind} needs at least one answer; give it as {key!r}"]
    return [
        f"{kind} answer {number}: it is blank ({answer!r}); give the expected text"
        for number, answer in enumerate(answers, start=1)
        if not answer.strip()
    ]


def verdict(
    criteria: Sequence[CriterionResult], lead: str = "", soft: float | None = None
) -> JudgementBody:
    """Sum criteria up: hard if all of them hold, soft the share that does unless it is given."""
    held = sum(criterion.passed for criterion in criteria)
    lines = [lead] if lead else []
    lines += [criterion.complaint for criterion in criteria if not criterion.passed]
    return JudgementBody(
        hard=float(held == len(criteria)),
        soft=held / len(criteria) if soft is None else soft,
        criteria=tuple(criteria),
        feedback="\n".join(lines),
    )
