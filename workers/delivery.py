"""At-least-once delivery made effectively once: claim, run, commit or give back.

`handle` never raises and returns one word of a closed vocabulary: no prompt, reply or exception
text reaches Celery.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import ValidationError

from skillopt.domain.backend import Backend, Params
from skillopt.domain.jobs import JobKind, JobSpec, decode_spec
from skillopt.domain.misread import in_short
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import InvalidBody, JudgementBody, Receipt, ReplyBody
from skillopt.errors import (
    BudgetExhausted,
    CallError,
    JudgeUnavailable,
    NotUnderstood,
    SkillOptError,
    StateCorrupt,
    WireError,
)
from skillopt.state.ports import ClaimStatus, Finished
from skillopt.wire.payloads import TryJob, decode
from workers.container import Container
from workers.held import Held, JobStopped, Stop
from workers.patience import patiently
from workers.refusing import incompatible, refuse_message

log = logging.getLogger(__name__)

#: Runs one kind of job and gives what it leaves behind, the job's own result first.
Runner = Callable[[Container, JobSpec, TryJob, Held], Sequence[Finished]]

_WORD_OF_CLAIM = {
    ClaimStatus.DONE: "cached",
    ClaimStatus.BUSY: "busy",
    ClaimStatus.QUARANTINED: "quarantined",
    ClaimStatus.DEAD: "dead",
    ClaimStatus.UNKNOWN: "unknown_job",
    ClaimStatus.UNWANTED: "abandoned",
}


class Refused(SkillOptError):
    """This worker must not do this job."""

    code = "refused"


def handle(container: Container, kind: JobKind, payload: Any, run: Runner) -> str:  # noqa: ANN401
    """Try the job a message asks for and say in one word what came of it."""
    try:
        message = decode(payload)
    except WireError as error:
        log.error("message refused: %s", error, extra={"event": "wire_refused"})
        return refuse_message(container, payload, str(error))
    if message.backend != container.backend.name:
        log.error(
            "message for backend %r reached a worker of %r",
            message.backend,
            container.backend.name,
            extra={"event": "wrong_backend", "job": message.job},
        )
        return "refused"
    try:
        return _deliver(container, kind, message, run)
    except Exception:
        # Celery would publish its text; the lease lapses and the job is sent again.
        log.exception("job left behind", extra={"event": "left_behind", "job": message.job})
        return "error"


def _deliver(container: Container, kind: JobKind, message: TryJob, run: Runner) -> str:
    owner = f"{container.name}:{container.new_id()}"
    claim = patiently(
        lambda: container.state.claims.claim(
            message.job, run=message.run, owner=owner, lane=container.lane
        )
    )
    if claim.status is not ClaimStatus.RUN:
        return _WORD_OF_CLAIM[claim.status]
    held = Held(message.job, owner, message.run)
    container.heartbeat.add(held)
    try:
        return _run_claimed(container, kind, message, claim.spec, held, run)
    finally:
        container.heartbeat.remove(held)


def call_params(spec: JobSpec) -> Params | None:
    """Give the parameters of a job's calls; None if they are the backend's own.

    Raises NotUnderstood for parameters that this version does not know.
    """
    if spec.params is None:
        return None
    try:
        return Params.model_validate(spec.params)
    except ValidationError as error:
        raise NotUnderstood(
            f"the parameters of a job are not understood: {in_short(error)}"
        ) from error


def _require_backend(backend: Backend, spec: JobSpec) -> None:
    """Refuse a job that another model must do; one that asks no model can be done anywhere."""
    if spec.backend is None:
        return
    ours = backend.using(call_params(spec)).fingerprint
    if spec.backend != ours:
        raise Refused(
            f"backend {backend.name!r} differs: the run wants {spec.backend[:16]}, this worker "
            f"has {ours[:16]}"
        )


def _run_claimed(
    container: Container,
    kind: JobKind,
    message: TryJob,
    encoded: bytes,
    held: Held,
    run: Runner,
) -> str:
    try:
        spec = decode_spec(message.job, encoded)
        if spec.kind != kind:
            raise Refused(f"a {spec.kind} job came in a {kind} message")
        _require_backend(container.backend, spec)
        finished = run(container, spec, message, held)
        patiently(lambda: container.state.claims.commit(finished, owner=held.owner))
        return LedgerLine.model_validate_json(finished[-1].line).outcome
    except JobStopped as stopped:
        return _stopped(container, held, stopped.why)
    except BudgetExhausted as error:
        return _give_back(container, held, error, drop_run=held.run)
    except NotUnderstood as error:
        return _give_back(container, held, incompatible(container, str(error)))
    except (CallError, JudgeUnavailable, Refused, StateCorrupt) as error:
        return _give_back(container, held, error)
    except Exception as error:
        log.exception("job failed unexpectedly", extra={"event": "defect", "job": held.job})
        return _give_back(container, held, SkillOptError(f"defect: {type(error).__name__}"))


def _stopped(container: Container, held: Held, why: Stop) -> str:
    if why is Stop.DRAINING:
        patiently(
            lambda: container.state.claims.release(
                held.job, owner=held.owner, delay_s=0.0, reason="draining: the worker stops"
            )
        )
    return str(why)


def _give_back(
    container: Container, held: Held, error: SkillOptError, *, drop_run: str | None = None
) -> str:
    """Give a job back for a reason that is not the model's: no score, tried again later."""
    rest_s = 0.0 if drop_run else container.timing.infra_delay_s
    delay_s = max(rest_s, error.retry_after_s or 0.0)
    log.warning("job given back: %s", error, extra={"event": "given_back", "job": held.job})
    patiently(
        lambda: container.state.claims.release(
            held.job,
            owner=held.owner,
            delay_s=delay_s,
            reason=f"{error.code}: {error}",
            drop_run=drop_run,
        )
    )
    return error.code


def finished_job(
    job: str,
    body: ReplyBody | JudgementBody | InvalidBody,
    *,
    payer: str,
    receipt: Receipt,
    skill: str | None = None,
) -> Finished:
    """Encode a result for COMMIT."""
    scores = (body.hard, body.soft) if isinstance(body, JudgementBody) else (None, None)
    line = LedgerLine(
        outcome=_outcome(body),
        digest=body.digest,
        hard=scores[0],
        soft=scores[1],
        payer=payer,
        by_model=True if isinstance(body, JudgementBody) and receipt.calls else None,
        judged=body.as_judged.digest if isinstance(body, ReplyBody) and skill else None,
    )
    return Finished(
        job=job,
        line=line.model_dump_json(exclude_none=True),
        body=body.model_dump_json(),
        receipt=receipt.model_dump_json(),
        skill=skill,
    )


def _outcome(body: ReplyBody | JudgementBody | InvalidBody) -> Any:  # noqa: ANN401
    if isinstance(body, InvalidBody):
        return "invalid"
    if isinstance(body, ReplyBody) and (not body.text.strip() or body.finish_reason == "refusal"):
        return "model_failed"
    return "scored"
