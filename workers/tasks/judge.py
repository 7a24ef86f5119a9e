"""A judgement of a stored reply by a local judge."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError

from skillopt.domain.item import Judge
from skillopt.domain.jobs import JobSpec, JudgeSpec
from skillopt.domain.results import InvalidBody, JudgementBody, Receipt, ReplyBody
from skillopt.errors import StateCorrupt
from skillopt.judges import judge, judge_versions
from skillopt.state.ports import Finished
from skillopt.wire.payloads import TryJob
from workers.container import Container
from workers.delivery import Refused, finished_job
from workers.heartbeat import Held

_JUDGE: TypeAdapter[Judge] = TypeAdapter(Judge)


def run(container: Container, spec: JobSpec, message: TryJob, held: Held) -> Sequence[Finished]:
    assert isinstance(spec, JudgeSpec)
    inputs = container.inputs.load([spec.judge, spec.reply])
    try:
        reply = ReplyBody.model_validate_json(inputs[spec.reply])
    except ValidationError as error:
        raise StateCorrupt(f"reply {spec.reply[:16]} is not understood: {error}") from error
    body = judge_reply(inputs[spec.judge], spec.version, reply)
    if body is None:
        raise Refused(f"this worker does not have version {spec.version} of the judge")
    receipt = Receipt(worker=container.name)
    return [finished_job(spec.id, body, payer=held.run, receipt=receipt)]


def judge_reply(
    encoded: bytes, version: int, reply: ReplyBody
) -> JudgementBody | InvalidBody | None:
    """Judge a reply; None if this worker's judge is of another version."""
    try:
        description = _JUDGE.validate_json(encoded)
    except ValidationError as error:
        raise StateCorrupt(f"a stored judge is not understood: {error}") from error
    if judge_versions().get(description.kind) != version:
        return None
    return judge(description, reply)
