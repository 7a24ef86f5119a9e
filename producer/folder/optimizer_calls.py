"""Records of optimizer calls, found by letting the loop decide again as it did then.

Deciding is pure: with the state of that moment and the results as they are stored, it builds the
same prompts, and so the same job ids, whatever the stage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from producer.folder.moments import Moment
from producer.folder.rollouts import EXPIRED
from producer.folder.stored import StoredCalls
from producer.records import OptimizerRecord
from skillopt.domain.events import Event, MetaLearned, Proposed, Reflected, Skipped
from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.messages import Message
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import Body, InvalidBody, JudgementBody, ReplyBody
from skillopt.domain.run import RunState
from skillopt.loop.decide import decide
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.loop.replies import reply_schema

_REPAIR = " / repair"


@dataclass(frozen=True)
class Place:
    """Where calls belong: what people call the stage, and its step or its epoch's end."""

    stage: str
    step: int | None = None
    epoch_end: int | None = None


@dataclass(frozen=True)
class _Asked:
    call: OptimizeStage
    label: str
    #: None, as are the messages, if part of what the prompt shows is not stored any more.
    job: str | None
    messages: tuple[Message, ...] | None
    items: tuple[str, ...] = ()


class _FactsThen:
    """The results as a decision saw them, as far as they are stored.

    An attempt whose texts have expired keeps its place, so that the other prompts come out as
    they were; the prompt that shows it is marked as `torn`. An optimizer reply that has expired
    counts as unknown: what was asked because of it cannot be told.
    """

    def __init__(self, ledger: Facts, stored: StoredCalls) -> None:
        self._ledger = ledger
        self._stored = stored
        self.given_up: frozenset[str] = frozenset()
        self.optimizer_jobs: set[str] = set()
        self.torn = False

    def line(self, job: str) -> LedgerLine | None:
        if job in self.given_up:
            return None
        if job in self.optimizer_jobs:
            call = self._stored.call(job)
            return call.line if call else None
        return self._ledger.line(job)

    def body(self, job: str) -> Body:
        call = self._stored.call(job)
        if call is not None:
            return call.body
        self.torn = True
        line = self._ledger.line(job)
        if line is not None and line.hard is not None:
            return JudgementBody(hard=line.hard, soft=line.soft or 0.0)
        return ReplyBody(text="")

    def messages(self, job: str) -> tuple[Message, ...]:
        body = self.body(job)
        if not isinstance(body, ReplyBody) or body.trajectory is None:
            return ()
        sent = self._stored.sent([job]).get(job)
        self.torn = self.torn or sent is None
        return sent or ()


class _Recorder(JobFactory):
    """Builds jobs and remembers the optimizer's."""

    def __init__(self, state: RunState, facts: _FactsThen) -> None:
        super().__init__(state.plan, state.run)
        self._facts = facts
        self.asked: list[_Asked] = []

    def optimize(
        self, stage: OptimizeStage, messages: tuple[Message, ...], label: str
    ) -> WantedJob:
        job = super().optimize(stage, messages, label)
        if self._facts.torn:
            self.asked.append(_Asked(stage, label, None, None))
            self._facts.torn = False
        else:
            self._facts.optimizer_jobs.add(job.id)
            self.asked.append(_Asked(stage, label, job.id, messages))
        return job


def collect_optimizer(
    moments: Sequence[Moment], stored: StoredCalls, ledger: Facts, place: Place
) -> list[OptimizerRecord]:
    """Record the optimizer calls behind events, in the order they depend on each other."""
    facts = _FactsThen(ledger, stored)
    asked: list[_Asked] = []
    for moment in moments:
        recorder = _Recorder(moment.before, facts)
        facts.given_up, facts.torn = frozenset(moment.before.given_up), False
        decide(moment.before, facts, recorder)
        asked += _with_items(recorder.asked, moment)
    plans = [moment.before.plan for moment in moments[:1]]
    return [_record(plan, stored, place, one) for plan in plans for one in _distinct(asked)]


def _with_items(asked: Sequence[_Asked], moment: Moment) -> Iterator[_Asked]:
    """Name the tasks that prompts show: an analyst's group, or the pairs of an epoch's end."""
    event = moment.event
    if isinstance(event, Reflected):
        bases = dict.fromkeys(one.label.removesuffix(_REPAIR) for one in asked)
        groups = dict(zip(bases, (group.items for group in event.groups), strict=False))
        for one in asked:
            yield replace(one, items=groups.get(one.label.removesuffix(_REPAIR), ()))
    elif _of_epoch_end(event):
        end = next(reversed(moment.before.epoch_ends.values()), None)
        shown = tuple(pair.item for pair in end.compared.pairs) if end else ()
        torn = any(one.job is None for one in asked)  # all of them show the same comparison
        for one in asked:
            # Both lessons may be asked for at once: each belongs to the event it led to.
            if (one.call == "meta_skill") == isinstance(event, MetaLearned):
                kept = replace(one, job=None, messages=None) if torn else one
                yield replace(kept, items=shown)
    else:
        yield from asked


def _of_epoch_end(event: Event) -> bool:
    if isinstance(event, Proposed | Skipped):
        return event.source == "slow_update"
    return isinstance(event, MetaLearned)


def _distinct(asked: Sequence[_Asked]) -> Iterator[_Asked]:
    """Give each call once, under a label that no other call has."""
    seen: set[str] = set()
    labels: Counter[str] = Counter()
    for one in asked:
        if one.job is not None and one.job in seen:
            continue
        seen.add(one.job or "")
        labels[one.label] += 1
        count = labels[one.label]
        yield one if count == 1 else replace(one, label=f"{one.label} ({count})")


def _record(plan: RunPlan, stored: StoredCalls, place: Place, asked: _Asked) -> OptimizerRecord:
    optimizer = plan.backends["optimizer"]
    call = stored.call(asked.job) if asked.job else None
    body = call.body if call else None
    problem = "" if call else EXPIRED
    return OptimizerRecord(
        stage=place.stage,
        step=place.step,
        epoch_end=place.epoch_end,
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
        backend=optimizer.backend,
        params=optimizer.at(asked.call).told,
        reply_schema=reply_schema(asked.call, plan.settings).name,
    )
