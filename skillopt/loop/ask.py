"""Asking the optimizer model: the first reply, and one repair if it cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.messages import Message
from skillopt.domain.results import ReplyBody
from skillopt.domain.run import RunState
from skillopt.domain.templates import fill
from skillopt.errors import ReplyError
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.loop.prompt_parts import cut

#: Characters of a reply that a repair shows again: a longer one would not fit into a prompt.
SHOWN_REPLY = 40_000

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A usable reply, or the job that is wanted for one, or why there will be none."""

    value: T | None = None
    wanted: WantedJob | None = None
    #: "given_up": for infrastructure reasons; the run must not go on without it.
    status: Literal["ok", "repaired", "waiting", "failed", "given_up"] = "waiting"
    problem: str = ""
    jobs: tuple[str, ...] = ()


def ask(
    state: RunState,
    facts: Facts,
    factory: JobFactory,
    *,
    stage: OptimizeStage,
    messages: tuple[Message, ...],
    parse: Callable[[str], T],
    label: str,
) -> Answer[T]:
    """Give the answer to an optimizer prompt as far as it is known."""
    first = factory.optimize(stage, messages, label)
    text, answer = _reply(state, facts, first)
    if text is None:
        return answer  # type: ignore[return-value]  # without a value, T does not matter
    try:
        return Answer(parse(text), status="ok", jobs=(first.id,))
    except ReplyError as error:
        problem = str(error)
    repair = Message(role="user", content=fill(state.plan.templates["repair"], {"error": problem}))
    second = factory.optimize(
        stage,
        (*messages, Message(role="assistant", content=cut(text, SHOWN_REPLY)), repair),
        f"{label} / repair",
    )
    text, answer = _reply(state, facts, second)
    jobs = (first.id, second.id)
    if answer.status == "failed":
        return Answer(
            status="failed", problem=f"{problem}; asked again: {answer.problem}", jobs=jobs
        )
    if text is None:
        return answer  # type: ignore[return-value]
    try:
        return Answer(parse(text), status="repaired", problem=problem, jobs=jobs)
    except ReplyError as error:
        return Answer(status="failed", problem=f"{problem}; asked again: {error}", jobs=jobs)


def _reply(state: RunState, facts: Facts, job: WantedJob) -> tuple[str | None, Answer[object]]:
    line = facts.line(job.id)
    if line is None:
        if job.id in state.given_up:
            return None, Answer(status="given_up", problem=state.given_up[job.id])
        return None, Answer(wanted=job)
    body = facts.body(job.id)
    if not isinstance(body, ReplyBody):
        problem = "the provider's content filter refused the prompt"
        return None, Answer(status="failed", problem=problem)
    return body.text, Answer()
