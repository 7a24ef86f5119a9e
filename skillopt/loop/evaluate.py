"""Measuring a document on items: which jobs are still wanted, and what the finished ones say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.domain.item import Item, SplitName
from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import InvalidBody, ReplyBody
from skillopt.domain.run import RunState
from skillopt.errors import StateCorrupt
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory, WantedJob


@dataclass(frozen=True)
class Attempt:
    """One sample of one item: the lines that exist, the job that is wanted next, or neither
    because its job was given up.
    """

    item: Item
    sample: int
    rollout: str
    judgement: str | None = None
    reply_line: LedgerLine | None = None
    judge_line: LedgerLine | None = None
    wanted: WantedJob | None = None
    #: A person took the item out of every comparison.
    left_out: bool = False

    @property
    def settled(self) -> bool:
        return self.wanted is None

    @property
    def invalid(self) -> bool:
        lines = (self.reply_line, self.judge_line)
        return any(line is not None and line.outcome == "invalid" for line in lines)

    @property
    def scored(self) -> bool:
        return not self.invalid and self.judge_line is not None

    @property
    def missing(self) -> bool:
        """Whether there is no result, nor any to wait for."""
        return self.settled and not self.left_out and not self.invalid and not self.judge_line


@dataclass(frozen=True)
class Evaluation:
    """All attempts of a document at some items."""

    skill: str
    split: SplitName
    attempts: tuple[Attempt, ...]

    @property
    def wanted(self) -> list[WantedJob]:
        return [attempt.wanted for attempt in self.attempts if attempt.wanted]

    @property
    def complete(self) -> bool:
        """Every attempt has a result or was given up; nothing is left to wait for."""
        return all(attempt.settled for attempt in self.attempts)

    @property
    def has_missing(self) -> bool:
        return any(attempt.missing for attempt in self.attempts)

    def measurement(self) -> Measurement:
        items = {item: _item_score(attempts) for item, attempts in self._by_item().items()}
        return Measurement(skill=self.skill, split=self.split, items=items)

    def complete_prefix(self) -> Measurement:
        """Measure the items, in order, up to the first that has no result (yet)."""
        items: dict[str, ItemScore] = {}
        for item, attempts in self._by_item().items():
            if not all(attempt.settled and not attempt.missing for attempt in attempts):
                break
            items[item] = _item_score(attempts)
        return Measurement(skill=self.skill, split=self.split, items=items)

    def _by_item(self) -> dict[str, list[Attempt]]:
        by_item: dict[str, list[Attempt]] = {}
        for attempt in self.attempts:
            by_item.setdefault(attempt.item.id, []).append(attempt)
        return by_item


def evaluate(
    state: RunState,
    facts: Facts,
    factory: JobFactory,
    *,
    skill: str,
    split: SplitName,
    items: Sequence[Item],
    samples: range,
    stage: str,
) -> Evaluation:
    """Look at a document on items: what is known and what is wanted, in a fixed order."""
    attempts = tuple(
        _attempt(state, facts, factory, skill, item, sample, stage)
        for item in items
        for sample in samples
    )
    return Evaluation(skill, split, attempts)


def _attempt(
    state: RunState,
    facts: Facts,
    factory: JobFactory,
    skill: str,
    item: Item,
    sample: int,
    stage: str,
) -> Attempt:
    documents = state.texts[skill]
    rollout = factory.rollout(skill, documents, item, sample)
    if item.id in state.left_out:
        return Attempt(item, sample, rollout.id, left_out=True)
    reply_line = facts.line(rollout.id)
    wanted = None
    if reply_line is None:
        if rollout.id not in state.given_up:
            wanted = factory.wanted_rollout(rollout, documents, item, stage)
        return Attempt(item, sample, rollout.id, wanted=wanted)
    if reply_line.outcome == "invalid":
        return Attempt(item, sample, rollout.id, reply_line=reply_line)
    judge = factory.judge(item, reply_line.to_judge)
    judge_line = facts.line(judge.id)
    if judge_line is None and judge.id not in state.given_up:
        wanted = factory.wanted_judge(judge, reply_body(facts, rollout.id), item, stage)
    return Attempt(item, sample, rollout.id, judge.id, reply_line, judge_line, wanted)


def reply_body(facts: Facts, job: str) -> ReplyBody:
    body = facts.body(job)
    if not isinstance(body, ReplyBody):
        raise StateCorrupt(f"job {job!r} should hold a reply, not a {body.kind!r}")
    return body


def reasons_of_invalid(evaluation: Evaluation, facts: Facts) -> list[str]:
    """Say of each invalid attempt, in order, which task it is and why it has no score."""
    reasons = []
    for attempt in evaluation.attempts:
        if attempt.invalid:
            judged = attempt.judgement if attempt.judge_line is not None else None
            body = facts.body(judged or attempt.rollout)
            if isinstance(body, InvalidBody):
                reasons.append(f"task {attempt.item.id!r}: {body.reason}")
    return reasons


def _item_score(attempts: list[Attempt]) -> ItemScore:
    if any(attempt.left_out for attempt in attempts):
        return ItemScore(status="left_out")
    if any(attempt.invalid for attempt in attempts):
        return ItemScore(status="invalid")
    lines = [attempt.judge_line for attempt in attempts if attempt.judge_line is not None]
    if len(lines) < len(attempts):
        return ItemScore(status="missing")
    hard = sum(line.hard or 0.0 for line in lines) / len(lines)
    soft = sum(line.soft or 0.0 for line in lines) / len(lines)
    return ItemScore(status="scored", hard=hard, soft=soft)
