"""Judges that ask a model: what each kind offers, and how one judgement is obtained.

A reply that holds no score is asked for once more, with what is wrong with it. A judge that gives
none even then, that refuses, or whose prompt a content filter refuses, leaves the task unscored:
that is never the fault of the answer that was to be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from skillopt.domain.item import TaskPrompt
from skillopt.domain.messages import Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.errors import ContentFiltered, ReplyError
from skillopt.judges.final_answer import shown

#: Characters of an unusable reply that are shown to the judge again.
_SHOWN_REPLY = 8_000
_EMPTY = "(empty)"

JudgeT = TypeVar("JudgeT")
JudgeT_contra = TypeVar("JudgeT_contra", contravariant=True)


@dataclass(frozen=True)
class Case(Generic[JudgeT]):
    """What is to be judged, and the template that puts it to the judge."""

    judge: JudgeT
    template: str
    prompt: TaskPrompt
    reply: ReplyBody


class ModelScorer(Protocol[JudgeT_contra]):
    """Puts replies to a model and reads what it says of them; calls nothing itself."""

    @property
    def version(self) -> int:
        """Raised whenever the same case may be put or read differently than before."""
        ...

    @property
    def schema(self) -> ReplySchema:
        """The form of a verdict, for servers that can enforce one."""
        ...

    def problems(self, judge: JudgeT_contra) -> list[str]:
        """Say in words what makes a judge unusable; empty if nothing does."""
        ...

    def unasked(self, judge: JudgeT_contra, reply: ReplyBody) -> JudgementBody | None:
        """Give the verdict that needs no model; None if one must be asked."""
        ...

    def messages(
        self, judge: JudgeT_contra, template: str, prompt: TaskPrompt, reply: ReplyBody
    ) -> tuple[Message, ...]:
        """Put a reply to the judge."""
        ...

    def read(self, judge: JudgeT_contra, text: str) -> JudgementBody:
        """Read a verdict; raises ReplyError, in words for the judge, if there is no score."""
        ...


@dataclass(frozen=True)
class Said:
    """One answer of the model that judges."""

    text: str
    refused: bool = False


@dataclass(frozen=True)
class Judged:
    """A verdict, and everything that was asked and said on the way to it."""

    body: JudgementBody | InvalidBody
    messages: tuple[Message, ...] = ()


def judge_by_model(
    scorer: ModelScorer[JudgeT],
    case: Case[JudgeT],
    ask: Callable[[Sequence[Message]], Said],
) -> Judged:
    """Judge a reply with at most two calls; what `ask` raises besides ContentFiltered passes."""
    judge, reply = case.judge, case.reply
    problems = scorer.problems(judge)
    if problems:
        return Judged(InvalidBody(reason="the judge is not usable: " + "; ".join(problems)))
    verdict = scorer.unasked(judge, reply)
    if verdict is not None:
        return Judged(verdict)
    messages = scorer.messages(judge, case.template, case.prompt, reply)
    faults: list[str] = []
    for _ in range(2):
        try:
            said = ask(messages)
        except ContentFiltered as error:
            return Judged(InvalidBody(reason=f"content filter, on judging: {error}"), messages)
        messages = (*messages, Message(role="assistant", content=said.text))
        if said.refused:
            reason = f"the judge refused to score the answer: {shown(said.text)}"
            return Judged(InvalidBody(reason=reason), messages)
        try:
            return Judged(scorer.read(judge, said.text), messages)
        except ReplyError as error:
            faults.append(str(error))
        again = Message(role="user", content=_again(faults[-1]))
        earlier = Message(role="assistant", content=said.text[:_SHOWN_REPLY].strip() or _EMPTY)
        messages = (*messages[:-1], earlier, again)
    reason = f"the judge gave no usable score: {'; asked again: '.join(faults)}"
    return Judged(InvalidBody(reason=reason), messages[:-1])


def _again(problem: str) -> str:
    return (
        f"Your verdict could not be used: {problem}\n\n"
        "Send it again as one JSON object of the form asked for, and nothing else."
    )
