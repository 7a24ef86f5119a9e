"""Records of a step's optimizer calls, found by asking the loop's own stages again.

The stages are pure: with the state as it was then and the results as they are stored, they build
the same prompts, and so the same job ids.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from producer.folder.rollouts import EXPIRED
from producer.folder.stored import LinesOnly, StoredCalls
from producer.records import OptimizerRecord
from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.messages import Message
from skillopt.domain.results import InvalidBody, ReplyBody
from skillopt.domain.run import RunState, StepState
from skillopt.loop import sample
from skillopt.loop.aggregate import aggregate
from skillopt.loop.evaluate import evaluate
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.loop.reflect import Group, analyse, groups_of
from skillopt.loop.select import select


@dataclass(frozen=True)
class _Asked:
    call: OptimizeStage
    label: str
    job: str | None
    messages: tuple[Message, ...] | None
    items: tuple[str, ...] = ()


class _Recorder(JobFactory):
    """Builds jobs and remembers the optimizer's."""

    def __init__(self, state: RunState) -> None:
        super().__init__(state.plan, state.run)
        self.asked: list[_Asked] = []
        self.items: tuple[str, ...] = ()

    def optimize(
        self, stage: OptimizeStage, messages: tuple[Message, ...], label: str
    ) -> WantedJob:
        job = super().optimize(stage, messages, label)
        self.asked.append(_Asked(stage, label, job.id, messages, self.items))
        return job


def collect_optimizer(
    state: RunState, stored: StoredCalls, facts: Facts, step: StepState
) -> list[OptimizerRecord]:
    """Record the analyst, merge and rank calls of a step, in the order they depend on."""
    recorder = _Recorder(state)
    before = state.steps[: step.started.step - 1]
    begun = StepState(started=step.started)
    _analyses(replace(state, steps=(*before, begun)), stored, facts, recorder, begun)
    recorder.items = ()
    if step.reflected:
        reflected = replace(begun, reflected=step.reflected)
        aggregate(replace(state, steps=(*before, reflected)), stored, recorder, reflected)
        if step.merged:
            merged = replace(reflected, merged=step.merged)
            select(replace(state, steps=(*before, merged)), stored, recorder, merged)
    return [_record(stored, step.started.step, asked) for asked in recorder.asked]


def _analyses(
    state: RunState, stored: StoredCalls, facts: Facts, recorder: _Recorder, step: StepState
) -> None:
    plan, number = state.plan, step.started.step
    for index, shard in enumerate(sample.shards_of(plan, number, sample.batch_of(plan, number))):
        evaluation = evaluate(
            state,
            LinesOnly(facts),
            recorder,
            skill=step.started.skill,
            split="train",
            items=shard,
            samples=range(plan.settings.train.samples),
            stage=f"step {number} / rollout",
        )
        for group in groups_of(index, evaluation.attempts, plan.settings.gradient):
            recorder.items = group.items
            if _readable(stored, group):
                analyse(state, stored, recorder, step, group)
            else:
                recorder.asked.append(_unreadable(number, group))


def _readable(stored: StoredCalls, group: Group) -> bool:
    jobs = [job for a in group.attempts for job in (a.rollout, a.judgement) if job]
    stored.load(jobs)
    return all(stored.call(job) for job in jobs)


def _unreadable(step: int, group: Group) -> _Asked:
    call: OptimizeStage = "reflect_failure" if group.kind == "failure" else "reflect_success"
    label = f"step {step} / reflect {group.kind} {group.shard}"
    return _Asked(call, label, None, None, group.items)


def _record(stored: StoredCalls, step: int, asked: _Asked) -> OptimizerRecord:
    call = stored.call(asked.job) if asked.job else None
    body = call.body if call else None
    problem = "" if call else EXPIRED
    return OptimizerRecord(
        stage=f"step {step} / optimizer",
        step=step,
        call=asked.call,
        label=asked.label,
        job=asked.job,
        items=asked.items,
        outcome=call.line.outcome if call else "missing",
        problem=body.reason if isinstance(body, InvalidBody) else problem,
        messages=asked.messages,
        reply=body.text if isinstance(body, ReplyBody) else None,
        finish_reason=body.finish_reason if isinstance(body, ReplyBody) else None,
        receipt=call.receipt if call else None,
    )
