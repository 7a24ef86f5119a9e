"""A rollout: one attempt of the target at one task, judged on the spot if the judge is local."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial

from pydantic import ValidationError

from skillopt.backends.cli.contract import AgentBackend
from skillopt.domain.backend import Params
from skillopt.domain.item import TaskPrompt, Tool
from skillopt.domain.jobs import JobSpec, JudgeSpec, RolloutSpec
from skillopt.domain.messages import Message
from skillopt.domain.misread import in_short
from skillopt.domain.results import InvalidBody, Receipt, ReplyBody
from skillopt.domain.skill_folder import read_manifest
from skillopt.envs.tasks import AttemptResult, Turn, attempt, first_messages
from skillopt.errors import ContentFiltered, NotUnderstood, TaskError
from skillopt.gateway.gateway import JobCalls
from skillopt.state.ports import Finished
from skillopt.wire.payloads import TryJob
from workers.container import Container
from workers.delivery import call_params, finished_job
from workers.held import Held
from workers.tasks.agents import attempt_by_agent
from workers.tasks.attachments import load_attachments
from workers.tasks.judge import judge_reply
from workers.tasks.traces import receipt_of, store_trajectory

log = logging.getLogger(__name__)


def run(container: Container, spec: JobSpec, message: TryJob, held: Held) -> Sequence[Finished]:
    assert isinstance(spec, RolloutSpec)
    text = _skill_text(container, spec)
    inputs = container.inputs.load(
        [text, spec.prompt, spec.template, *([spec.memory] if spec.memory else [])],
        soon=[message.judge] if message.judge else (),
    )
    calls = container.calls_of(held, "target")
    started = time.monotonic()
    try:
        prompt = TaskPrompt.model_validate_json(inputs[spec.prompt])
        result = _attempt(
            container,
            calls,
            spec,
            prompt,
            inputs[text].decode(),
            inputs[spec.template].decode(),
            inputs[spec.memory].decode() if spec.memory else "",
        )
    except ValidationError as error:
        raise NotUnderstood(
            f"task {spec.prompt[:16]} is not understood: {in_short(error)}"
        ) from error
    except (ContentFiltered, TaskError) as error:
        why = "content filter" if isinstance(error, ContentFiltered) else "cannot be attempted"
        body = InvalidBody(reason=f"{why}: {error}")
        receipt = receipt_of(container, calls, started)
        return [finished_job(spec.id, body, payer=held.run, receipt=receipt, skill=spec.skill)]
    reply = ReplyBody(
        text=result.text,
        finish_reason=result.finish_reason,
        tools_called=result.tools_called,
        trajectory=store_trajectory(container, result.messages),
    )
    receipt = receipt_of(container, calls, started)
    finished = [finished_job(spec.id, reply, payer=held.run, receipt=receipt, skill=spec.skill)]
    return finished + _judge_here(container, message, held, reply)


def _attempt(
    container: Container,
    calls: JobCalls,
    spec: RolloutSpec,
    prompt: TaskPrompt,
    skill: str,
    template: str,
    memory: str,
) -> AttemptResult:
    if isinstance(container.chat, AgentBackend):

        def put(stand_in: str) -> Sequence[Message]:
            return first_messages(prompt, stand_in, template, memory)

        return attempt_by_agent(container, calls, spec, prompt, skill, put)
    chat = partial(_turn, calls, spec.sample, call_params(spec))
    return attempt(chat, prompt, skill, template, memory, load_attachments(container, prompt))


def _skill_text(container: Container, spec: RolloutSpec) -> str:
    """Give the hash of the document's text: a folder's manifest names it."""
    if spec.layout is None:
        return spec.skill
    return read_manifest(container.inputs.load([spec.skill])[spec.skill]).text


def _turn(
    calls: JobCalls,
    sample: int,
    params: Params | None,
    messages: Sequence[Message],
    tools: Sequence[Tool],
) -> Turn:
    reply = calls.complete(messages, tools=tools, sample=sample, params=params)
    return Turn(reply.text, reply.finish_reason, reply.refused, reply.tool_calls)


def _judge_here(
    container: Container, message: TryJob, held: Held, reply: ReplyBody
) -> list[Finished]:
    """Judge at once if the message names a judge of the version that this worker has."""
    if message.judge is None or message.judge_version is None:
        return []
    judged = reply.as_judged
    spec = JudgeSpec(judge=message.judge, version=message.judge_version, reply=judged.digest)
    try:
        encoded = container.inputs.load([message.judge])[message.judge]
        body = judge_reply(encoded, spec.version, judged)
    except Exception:
        # The reply is paid for: whatever is wrong with its judge, it is kept and judged later.
        log.exception("not judged here", extra={"event": "judge_failed", "job": held.job})
        return []
    if body is None:
        return []
    receipt = Receipt(worker=container.name)
    return [finished_job(spec.id, body, payer=held.run, receipt=receipt)]
