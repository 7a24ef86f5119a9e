"""A judgement of a stored reply: here and now, or by asking the backend's model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from pydantic import TypeAdapter, ValidationError

from skillopt.domain.backend import Params
from skillopt.domain.item import Judge, TaskPrompt
from skillopt.domain.jobs import JobSpec, JudgeSpec
from skillopt.domain.messages import Message
from skillopt.domain.misread import in_short
from skillopt.domain.reply_schema import ReplySchema
from skillopt.domain.results import InvalidBody, JudgementBody, Receipt, ReplyBody
from skillopt.errors import NotUnderstood
from skillopt.gateway.gateway import JobCalls
from skillopt.judges import judge, judge_versions, model_scorer
from skillopt.judges.model_scorer import Case, Said, judge_by_model
from skillopt.state.ports import Finished
from skillopt.wire.payloads import TryJob
from workers.container import Container
from workers.delivery import call_params, finished_job
from workers.held import Held
from workers.tasks.traces import receipt_of, store_trajectory

_JUDGE: TypeAdapter[Judge] = TypeAdapter(Judge)


def run(container: Container, spec: JobSpec, message: TryJob, held: Held) -> Sequence[Finished]:
    assert isinstance(spec, JudgeSpec)
    if spec.prompt is not None and spec.template is not None:
        return _ask_model(container, spec, held, spec.prompt, spec.template)
    inputs = container.inputs.load([spec.judge, spec.reply])
    body = judge_reply(inputs[spec.judge], spec.version, _reply(spec, inputs[spec.reply]))
    if body is None:
        raise _other_version(spec, inputs[spec.judge])
    receipt = Receipt(worker=container.name)
    return [finished_job(spec.id, body, payer=held.run, receipt=receipt)]


def judge_reply(
    encoded: bytes, version: int, reply: ReplyBody
) -> JudgementBody | InvalidBody | None:
    """Judge a reply without any model; None if this worker's judge is of another version."""
    description = _read_judge(encoded)
    if judge_versions().get(description.kind) != version:
        return None
    return judge(description, reply)


def _ask_model(
    container: Container, spec: JudgeSpec, held: Held, prompt: str, template: str
) -> Sequence[Finished]:
    inputs = container.inputs.load([spec.judge, spec.reply, prompt, template])
    description = _read_judge(inputs[spec.judge])
    scorer = model_scorer(description)
    if scorer is None or scorer.version != spec.version:
        raise _other_version(spec, inputs[spec.judge])
    case = Case(
        judge=description,
        template=inputs[template].decode(),
        prompt=_prompt(prompt, inputs[prompt]),
        reply=_reply(spec, inputs[spec.reply]),
    )
    params = call_params(spec)
    calls = container.calls_of(held, "judge")
    started = time.monotonic()
    judged = judge_by_model(scorer, case, partial(_say, calls, params, scorer.schema))
    body = judged.body
    if judged.messages:
        kept = store_trajectory(container, judged.messages)
        body = body.model_copy(update={"trajectory": kept})
    receipt = receipt_of(container, calls, started)
    return [finished_job(spec.id, body, payer=held.run, receipt=receipt)]


def _say(
    calls: JobCalls, params: Params | None, schema: ReplySchema, messages: Sequence[Message]
) -> Said:
    reply = calls.complete(messages, params=params, schema=schema)
    return Said(reply.text, refused=reply.refused)


def _read_judge(encoded: bytes) -> Judge:
    try:
        return _JUDGE.validate_json(encoded)
    except ValidationError as error:
        raise NotUnderstood(f"a stored judge is not understood: {in_short(error)}") from error


def _reply(spec: JudgeSpec, encoded: bytes) -> ReplyBody:
    try:
        return ReplyBody.model_validate_json(encoded)
    except ValidationError as error:
        raise NotUnderstood(
            f"reply {spec.reply[:16]} is not understood: {in_short(error)}"
        ) from error


def _prompt(name: str, encoded: bytes) -> TaskPrompt:
    try:
        return TaskPrompt.model_validate_json(encoded)
    except ValidationError as error:
        raise NotUnderstood(f"task {name[:16]} is not understood: {in_short(error)}") from error


def _other_version(spec: JudgeSpec, encoded: bytes) -> NotUnderstood:
    kind = _read_judge(encoded).kind
    ours = judge_versions().get(kind)
    here = "no such judge" if ours is None else f"version {ours}"
    return NotUnderstood(
        f"the run is pinned to version {spec.version} of judge {kind!r}, this worker has {here}"
    )
