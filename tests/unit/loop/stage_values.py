"""A step at work: each stage is looked at, and its optimizer calls are answered by the test."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from loop_values import Table
from scripted_models import sections
from scripted_run import make_plan

from skillopt.domain.changes import Change, Rewrite, Suggestion
from skillopt.domain.events import (
    BudgetDecided,
    Merged,
    Noted,
    Reflected,
    RunCreated,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.item import ExactJudge, Item, Splits, TaskPrompt
from skillopt.domain.measurement import Measurement
from skillopt.domain.messages import Message, decode_messages
from skillopt.domain.plan import RunPlan
from skillopt.domain.reports import GroupReport
from skillopt.domain.run import RunState, StepState
from skillopt.loop.decision import StageResult
from skillopt.loop.fold import apply, begin
from skillopt.loop.jobs import JobFactory, WantedJob

Stage = Callable[..., StageResult[Any]]

#: A task whose text is long enough to be told apart from ordinary words.
SECRET = "The lighthouse keeper of Skagen polished seventeen brass lanterns before the storm."


def plan_with_secret(**changes: Any) -> RunPlan:
    """A plan with one training task that has an unmistakable text."""
    plan = make_plan(**changes)
    secret = Item(id="secret", prompt=TaskPrompt(task=SECRET), judge=ExactJudge(answer="brass"))
    splits = Splits(train=(*plan.splits.train, secret), val=plan.splits.val, test=plan.splits.test)
    return plan.model_copy(update={"splits": splits})


def group(shard: int, *changes: Change, kind: str = "failure", **more: Any) -> GroupReport:
    tasks = tuple(dict.fromkeys(task for one in changes for task in one.support))
    given = {"shard": shard, "kind": kind, "items": tasks, "status": "ok", **more}
    return GroupReport.model_validate({**given, "edits": changes})


def suggestion(instruction: str, *support: str, kind: str = "failure", **more: Any) -> Suggestion:
    given = {"type": "add_rule", "instruction": instruction, "source_type": kind, **more}
    return Suggestion.model_validate({**given, "support": support})


def rewrite_to(text: str, *support: str, kind: str = "failure") -> Rewrite:
    return Rewrite.model_validate({"new_skill": text, "source_type": kind, "support": support})


class Bench:
    """The first step of a run, with the parts that earlier stages would have left."""

    def __init__(
        self,
        *,
        plan: RunPlan | None = None,
        optimizer: dict[str, Any] | None = None,
        gradient: dict[str, Any] | None = None,
        budget: int | None = 2,
        meta_skill: str = "",
        **changes: Any,
    ) -> None:
        settings = {
            "optimizer": {"learning_rate": 2, "min_learning_rate": 1, **(optimizer or {})},
            "gradient": {"minibatch_size": 2, "merge_batch_size": 2, **(gradient or {})},
            **changes.pop("settings", {}),
        }
        self.plan = plan or plan_with_secret(settings=settings, **changes)
        run = self.plan.run_id
        created = RunCreated(
            run=run, name=self.plan.name, plan=self.plan.identity, skill=self.plan.initial_key
        )
        started = StepStarted(
            step=1, epoch=1, skill=self.plan.initial_key, items=(), edit_budget=budget
        )
        state = apply(begin(self.plan, created), started)
        self.state: RunState = replace(state, meta_skill=meta_skill)
        self.facts, self.factory = Table(), JobFactory(self.plan, run)

    @property
    def step(self) -> StepState:
        assert self.state.step is not None
        return self.state.step

    def put(self, **parts: Any) -> Bench:
        self.state = replace(
            self.state, steps=(*self.state.steps[:-1], replace(self.step, **parts))
        )
        return self

    def after_a_skip(self, detail: str) -> Bench:
        """Let another step of the same epoch have ended before."""
        started = self.step.started.model_copy(update={"step": 0})
        skip = Skipped(step=0, reason="no_change", detail=detail)
        earlier = StepState(started=started, skipped=skip)
        self.state = replace(self.state, steps=(earlier, *self.state.steps))
        return self

    def reflected(self, *groups: GroupReport, **scores: Any) -> Bench:
        batch = Measurement(skill=self.plan.initial_key, split="train", items=scores)
        return self.put(reflected=Reflected(step=1, batch=batch, groups=groups))

    def merged(self, *changes: Change, **more: Any) -> Bench:
        return self.put(merged=Merged(step=1, edits=changes, **more))

    def decided(self, budget: int) -> Bench:
        return self.put(budget=BudgetDecided(step=1, edit_budget=budget, status="ok"))

    def selected(self, *changes: Change) -> Bench:
        return self.put(selected=Selected(step=1, edits=changes, how="all"))

    def noted(self, *added: str, before: Sequence[str] = (), **more: Any) -> Bench:
        return self.put(noted=Noted(step=1, notes=(*before, *added), added=added, **more))

    def look(self, stage: Stage) -> StageResult[Any]:
        return stage(self.state, self.facts, self.factory, self.step)

    def reply(self, stage: Stage, text: str | dict[str, Any]) -> StageResult[Any]:
        """Answer the one call that a stage wants, and look again."""
        [job] = self.look(stage).wanted
        self.facts.reply(job.id, text if isinstance(text, str) else json.dumps(text))
        return self.look(stage)

    def give_up(self, stage: Stage, why: str = "timeout") -> StageResult[Any]:
        [job] = self.look(stage).wanted
        self.state = replace(self.state, given_up={job.id: why})
        return self.look(stage)

    def prompt(self, stage: Stage) -> dict[str, str]:
        """Give the sections of the user message that a stage sends, by title."""
        [job] = self.look(stage).wanted
        return sections(messages_of(job)[1].content)


def messages_of(job: WantedJob) -> tuple[Message, ...]:
    return decode_messages(job.blobs[0])
