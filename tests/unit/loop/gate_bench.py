"""A run in front of a gate: the current document is measured, a candidate is proposed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from loop_values import Score, Table, measurement
from scripted_run import ScriptedRun, item, make_plan

from skillopt.domain.documents import Documents
from skillopt.domain.events import Gated, Measured, Proposed, StepStarted
from skillopt.domain.item import Splits
from skillopt.domain.results import InvalidBody, JudgementBody
from skillopt.domain.run import RunState
from skillopt.loop.decision import Decision
from skillopt.loop.fold import apply
from skillopt.loop.gating import gate

CANDIDATE = "# Greeter\n\nBe polite.\n"


@dataclass
class GateBench:
    """Looks at the gate again and again while results of the candidate come in."""

    current: dict[str, Score]
    evaluation: dict[str, Any] = field(default_factory=dict)
    facts: Table = field(default_factory=Table)
    forced: bool | None = None

    def __post_init__(self) -> None:
        val = tuple(item(name, name) for name in self.current)
        train = (item("lesson", "lesson"),)
        plan = make_plan(
            splits=Splits(train=train, val=val),
            settings={
                "train": {"num_epochs": 1},
                "evaluation": {"early_decision": True, **self.evaluation},
            },
        )
        run = ScriptedRun(plan)
        self.factory = run.factory
        self.key = plan.key_of(Documents(skill=CANDIDATE))
        known = measurement(run.state.current, **self.current)
        self.state = apply(run.state, Measured(measurement=known))
        started = StepStarted(
            step=1, epoch=1, skill=self.state.current, items=("lesson",), edit_budget=1
        )
        self.proposed = Proposed(step=1, parent=self.state.current, skill=self.key, text=CANDIDATE)
        for event in (started, self.proposed):
            self.state = apply(self.state, event)

    def look(self) -> Decision:
        return gate(
            self.state, self.facts, self.factory, self.proposed, label="gate", forced=self.forced
        )

    def wanted(self) -> list[str]:
        return [job.label.removeprefix("gate / ") for job in self.look().wanted]

    def answer(self, name: str, score: Score, sample: int = 0) -> None:
        """Bring one result: a score, `invalid`, or `missing` for a job that was given up."""
        task = next(one for one in self.state.plan.splits.val if one.id == name)
        rollout = self.factory.rollout(self.key, Documents(skill=CANDIDATE), task, sample)
        if score == "missing":
            given_up = {**self.state.given_up, rollout.id: "no connection"}
            self.state = replace(self.state, given_up=given_up)
            return
        if score == "invalid":
            self.facts.bodies[rollout.id] = InvalidBody(reason="filtered")
            return
        assert not isinstance(score, str)
        hard, soft = score if isinstance(score, tuple) else (score, score)
        self.facts.reply(rollout.id, f"{name} {sample} {score}")
        judge = self.factory.judge(task, self.facts.bodies[rollout.id].digest)
        self.facts.bodies[judge.id] = JudgementBody(hard=hard, soft=soft)

    def answer_all(self, **scores: Score) -> Decision:
        for name, score in scores.items():
            self.answer(name, score)
        return self.look()

    def gated(self) -> Gated:
        event = self.look().events[0]
        assert isinstance(event, Gated)
        return event

    def after(self) -> RunState:
        state = self.state
        for event in self.look().events:
            state = apply(state, event)
        return state
