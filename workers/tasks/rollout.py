"""A rollout: one attempt of the target at one task, judged on the spot if the judge is local."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial

from pydantic import ValidationError

from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.item import TaskPrompt, Tool
from skillopt.domain.jobs import JobSpec, JudgeSpec, RolloutSpec
from skillopt.domain.messages import Message, encode_messages
from skillopt.domain.results import InvalidBody, Receipt, ReplyBody
from skillopt.domain.skill_folder import SKILL_FILE, read_manifest
from skillopt.envs.tasks import Turn, attempt
from skillopt.errors import ContentFiltered, StateCorrupt
from skillopt.gateway.gateway import JobCalls
from skillopt.state.ports import Finished
from skillopt.wire.payloads import TryJob
from workers.container import Container
from workers.delivery import finished_job
from workers.heartbeat import Held
from workers.patience import patiently
from workers.tasks.judge import judge_reply

log = logging.getLogger(__name__)

#: Longer conversations are kept without their middle.
TRAJECTORY_LIMIT = 256_000


def run(container: Container, spec: JobSpec, message: TryJob, held: Held) -> Sequence[Finished]:
    assert isinstance(spec, RolloutSpec)
    text = _skill_text(container, spec)
    inputs = container.inputs.load(
        [text, spec.prompt, spec.template, *([spec.memory] if spec.memory else [])]
    )
    calls = container.calls_of(held, "target")
    started = time.monotonic()
    try:
        prompt = TaskPrompt.model_validate_json(inputs[spec.prompt])
        result = attempt(
            partial(_turn, calls, spec.sample),
            prompt,
            inputs[text].decode(),
            inputs[spec.template].decode(),
            inputs[spec.memory].decode() if spec.memory else "",
        )
    except ValidationError as error:
        raise StateCorrupt(f"task {spec.prompt[:16]} is not understood: {error}") from error
    except ContentFiltered as error:
        body = InvalidBody(reason=f"content filter: {error}")
        receipt = receipt_of(container, calls, started)
        return [finished_job(spec.id, body, payer=held.run, receipt=receipt, skill=spec.skill)]
    reply = ReplyBody(
        text=result.text,
        finish_reason=result.finish_reason,
        tools_called=result.tools_called,
        trajectory=_store_trajectory(container, result.messages),
    )
    receipt = receipt_of(container, calls, started)
    finished = [finished_job(spec.id, reply, payer=held.run, receipt=receipt, skill=spec.skill)]
    return finished + _judge_here(container, message, held, reply)


def _skill_text(container: Container, spec: RolloutSpec) -> str:
    """Give the hash of the document's text: a folder's manifest names it."""
    if spec.layout is None:
        return spec.skill
    listed = read_manifest(container.inputs.load([spec.skill])[spec.skill])
    return listed[SKILL_FILE]


def receipt_of(container: Container, calls: JobCalls, started: float) -> Receipt:
    return Receipt(
        worker=container.name,
        seconds=round(time.monotonic() - started, 3),
        calls=calls.calls,
        input_tokens=calls.usage.input_tokens,
        output_tokens=calls.usage.output_tokens,
        cost_micro_usd=calls.micro_usd,
    )


def _turn(calls: JobCalls, sample: int, messages: Sequence[Message], tools: Sequence[Tool]) -> Turn:
    reply = calls.complete(messages, tools=tools, sample=sample)
    return Turn(reply.text, reply.finish_reason, reply.refused, reply.tool_calls)


def _judge_here(
    container: Container, message: TryJob, held: Held, reply: ReplyBody
) -> list[Finished]:
    """Judge at once if the message names a judge of the version that this worker has."""
    if message.judge is None or message.judge_version is None:
        return []
    spec = JudgeSpec(judge=message.judge, version=message.judge_version, reply=reply.digest)
    try:
        encoded = container.inputs.load([message.judge])[message.judge]
        body = judge_reply(encoded, spec.version, reply)
    except Exception:
        # The reply is paid for: whatever is wrong with its judge, it is kept and judged later.
        log.exception("not judged here", extra={"event": "judge_failed", "job": held.job})
        return []
    if body is None:
        return []
    receipt = Receipt(worker=container.name)
    return [finished_job(spec.id, body, payer=held.run, receipt=receipt)]


def _store_trajectory(container: Container, messages: tuple[Message, ...]) -> str:
    kept = encode_messages(messages)
    if len(kept) > TRAJECTORY_LIMIT:
        room = TRAJECTORY_LIMIT // (2 * len(messages))
        cut = tuple(
            message.model_copy(update={"content": _ends(message.content, room)})
            for message in messages
        )
        kept = encode_messages(cut)
    patiently(lambda: container.state.blobs.put([kept]))
    return sha256_hex(kept)


def _ends(text: str, room: int) -> str:
    return text if len(text) <= 2 * room else f"{text[:room]}\n[… cut …]\n{text[-room:]}"
