"""Records of a document's attempts at items: an evaluation as its jobs left it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from producer.folder.stored import LinesOnly, StoredCalls
from producer.records import RecordOutcome, RolloutRecord
from skillopt.domain.item import Item, SplitName, asks_model
from skillopt.domain.messages import Message
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.domain.run import RunState
from skillopt.loop.evaluate import Attempt, Evaluation, evaluate
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory

EXPIRED = "its result is not stored any more"
NOT_SENT = "the messages that were sent are not stored any more"


@dataclass(frozen=True)
class Scope:
    """Which attempts are meant: a document on items, and what people call the stage."""

    stage: str
    skill: str
    split: SplitName
    items: Sequence[Item]
    samples: range
    #: The step they belong to, or the epoch whose end they belong to.
    step: int | None = None
    epoch_end: int | None = None


def locate(state: RunState, facts: Facts, scope: Scope) -> Evaluation:
    """Find the jobs of an evaluation from the ledger's lines alone.

    `state` is that of the moment the evaluation was used: what was given up or left out then
    has no result here, even if there is one now.
    """
    return evaluate(
        state,
        LinesOnly(facts, state.given_up),
        JobFactory(state.plan, state.run),
        skill=scope.skill,
        split=scope.split,
        items=scope.items,
        samples=scope.samples,
        stage=scope.stage,
    )


def collect(
    state: RunState, stored: StoredCalls, evaluation: Evaluation, scope: Scope
) -> list[RolloutRecord]:
    """Record every attempt of an evaluation, in its order; one without a result is "missing"."""
    attempts = evaluation.attempts
    stored.load(jobs_of(evaluation))
    sent = stored.sent(jobs_of(evaluation))
    return [_record(state, stored, attempt, scope, sent) for attempt in attempts]


def jobs_of(evaluation: Evaluation) -> list[str]:
    return [job for attempt in evaluation.attempts for job in _jobs(attempt)]


def _jobs(attempt: Attempt) -> list[str]:
    return [attempt.rollout, *([attempt.judgement] if attempt.judgement else [])]


def _record(
    state: RunState,
    stored: StoredCalls,
    attempt: Attempt,
    scope: Scope,
    sent: Mapping[str, tuple[Message, ...]],
) -> RolloutRecord:
    messages = sent.get(attempt.rollout)
    rollout = stored.call(attempt.rollout) if attempt.reply_line else None
    reply = rollout.body if rollout and isinstance(rollout.body, ReplyBody) else None
    judged = stored.call(attempt.judgement) if attempt.judgement else None
    judgement = judged.body if judged and isinstance(judged.body, JudgementBody) else None
    asked = asks_model(attempt.item.judge)
    outcome, problem = _outcome(state, stored, attempt)
    if reply and messages is None and not problem:
        problem = NOT_SENT
    line, target = attempt.judge_line, state.plan.backends["target"]
    return RolloutRecord(
        stage=scope.stage,
        step=scope.step,
        epoch_end=scope.epoch_end,
        split=scope.split,
        item=attempt.item.id,
        sample=attempt.sample,
        skill=scope.skill,
        rollout=attempt.rollout,
        judgement=attempt.judgement,
        outcome=outcome,
        problem=problem,
        hard=line.hard if line else None,
        soft=line.soft if line else None,
        messages=messages if reply else None,
        reply=reply.text if reply else None,
        finish_reason=reply.finish_reason if reply else None,
        tools_called=reply.tools_called if reply else (),
        criteria=judgement.criteria if judgement else (),
        feedback=judgement.feedback if judgement else "",
        judge_messages=sent.get(attempt.judgement or "") if asked else None,
        judge_receipt=judged.receipt if judged and asked else None,
        receipt=rollout.receipt if rollout else None,
        backend=target.backend,
        params=target.told,
    )


def _outcome(state: RunState, stored: StoredCalls, attempt: Attempt) -> tuple[RecordOutcome, str]:
    """Say what came of an attempt; the ledger decides, the stored bodies explain."""
    if attempt.left_out:
        return "left_out", f"a person left the task out: {state.left_out[attempt.item.id]}"
    calls = [stored.call(job) for job in _jobs(attempt)]
    if attempt.invalid:
        bodies = [call.body for call in calls if call]
        reasons = [body.reason for body in bodies if isinstance(body, InvalidBody)]
        return "invalid", "; ".join(reasons) or EXPIRED
    if attempt.reply_line is None or attempt.judge_line is None:
        reasons = [state.given_up[job] for job in _jobs(attempt) if job in state.given_up]
        return "missing", "; ".join(reasons) or "no result was obtained"
    if not all(calls):
        return "missing", EXPIRED
    failed = "model_failed" in (attempt.reply_line.outcome, attempt.judge_line.outcome)
    return ("model_failed" if failed else "scored"), ""
