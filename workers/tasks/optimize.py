"""An optimizer call: fixed messages in, the reply as it came out."""

from __future__ import annotations

import time
from collections.abc import Sequence

from skillopt.domain.jobs import JobSpec, OptimizeSpec
from skillopt.domain.messages import decode_messages
from skillopt.domain.reply_schema import decode_schema
from skillopt.domain.results import InvalidBody, ReplyBody
from skillopt.errors import ContentFiltered
from skillopt.state.ports import Finished
from skillopt.wire.payloads import TryJob
from workers.container import Container
from workers.delivery import call_params, finished_job
from workers.held import Held
from workers.tasks.traces import receipt_of


def run(container: Container, spec: JobSpec, message: TryJob, held: Held) -> Sequence[Finished]:
    assert isinstance(spec, OptimizeSpec)
    inputs = container.inputs.load(list(filter(None, [spec.messages, spec.reply_schema])))
    messages = decode_messages(inputs[spec.messages])
    schema = decode_schema(inputs[spec.reply_schema]) if spec.reply_schema else None
    calls = container.calls_of(held, "optimizer")
    started = time.monotonic()
    body: ReplyBody | InvalidBody
    try:
        reply = calls.complete(
            messages, sample=spec.sample, params=call_params(spec), schema=schema
        )
        reason = "refusal" if reply.refused else reply.finish_reason
        body = ReplyBody(text=reply.text, finish_reason=reason, trajectory=spec.messages)
    except ContentFiltered as error:
        body = InvalidBody(reason=f"content filter: {error}")
    receipt = receipt_of(container, calls, started)
    return [finished_job(spec.id, body, payer=held.run, receipt=receipt)]
