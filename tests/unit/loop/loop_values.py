"""Short words for the values that the stages of the loop work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from scripted_run import ScriptedRun

from skillopt.domain.edits import Edit
from skillopt.domain.events import Merged, Reflected, Selected
from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.messages import Message
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.reports import GroupReport
from skillopt.domain.results import Body, InvalidBody, JudgementBody, ReplyBody
from skillopt.domain.run import RunState, StepState
from skillopt.loop.decide import Decision, decide

T = TypeVar("T")
Score = float | tuple[float, float] | str


def measurement(skill: str = "s", **scores: Score) -> Measurement:
    """Give a measurement on val: one number is both scores, a word is a status."""
    items = {}
    for item, score in scores.items():
        if isinstance(score, str):
            items[item] = ItemScore.model_validate({"status": score})
            continue
        hard, soft = score if isinstance(score, tuple) else (score, score)
        items[item] = ItemScore(status="scored", hard=hard, soft=soft)
    return Measurement(skill=skill, split="val", items=items)


def edit(content: str, op: str = "append", target: str = "", **more: object) -> Edit:
    return Edit.model_validate({"op": op, "target": target, "content": content, **more})


@dataclass
class Table:
    """Facts from a dictionary."""

    bodies: dict[str, Body] = field(default_factory=dict)

    def line(self, job: str) -> LedgerLine | None:
        body = self.bodies.get(job)
        if body is None:
            return None
        scores = (body.hard, body.soft) if isinstance(body, JudgementBody) else (None, None)
        outcome = "invalid" if isinstance(body, InvalidBody) else "scored"
        return LedgerLine(outcome=outcome, digest=body.digest, hard=scores[0], soft=scores[1])

    def body(self, job: str) -> Body:
        return self.bodies[job]

    def messages(self, job: str) -> tuple[Message, ...]:
        return ()

    def reply(self, job: str, text: str) -> None:
        self.bodies[job] = ReplyBody(text=text)


def step_of(run: ScriptedRun) -> StepState:
    assert run.state.step is not None
    return run.state.step


def with_step(state: RunState, step: StepState) -> RunState:
    return replace(state, steps=(*state.steps[:-1], step))


def reflected(step: StepState, groups: Sequence[GroupReport]) -> StepState:
    batch = Measurement(skill=step.started.skill, split="train", items={})
    event = Reflected(step=step.started.step, batch=batch, groups=tuple(groups))
    return replace(step, reflected=event)


def merged(step: StepState, edits: Sequence[Edit]) -> StepState:
    return replace(step, merged=Merged(step=step.started.step, edits=tuple(edits)))


def selected(step: StepState, edits: Sequence[Edit]) -> StepState:
    return replace(step, selected=Selected(step=step.started.step, edits=tuple(edits), how="all"))


def look(run: ScriptedRun) -> Decision:
    return decide(run.state, run, run.factory)


def of_type(run: ScriptedRun, kind: type[T]) -> list[T]:
    return [event for event in run.events if isinstance(event, kind)]
