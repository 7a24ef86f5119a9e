"""Sends "please try this job" to the queue of a backend: the only Celery app of the producer."""

from __future__ import annotations

import logging

from celery import Celery
from kombu.exceptions import OperationalError

from skillopt.domain.fingerprint import sha256_hex
from skillopt.errors import StateUnavailable
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import Lane
from skillopt.wire.broker import PUBLISH_RETRY_POLICY, TRANSPORT_OPTIONS
from skillopt.wire.payloads import TryJob
from skillopt.wire.tasks import DEFAULT_QUEUE, TASK_NAMES, queue_of

log = logging.getLogger(__name__)


def celery_app(broker_url: str) -> Celery:
    """Make an app that sends, or looks on, with the options that every app of a broker shares."""
    app = Celery("skillopt", set_as_current=False)
    app.conf.update(
        broker_url=broker_url,
        result_backend=None,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        broker_transport_options=TRANSPORT_OPTIONS,
        task_publish_retry_policy=PUBLISH_RETRY_POLICY,
        task_default_queue=DEFAULT_QUEUE,
        task_create_missing_queues=True,
        task_send_sent_event=True,
    )
    return app


class Dispatcher:
    """Publishes messages. Losing one costs time, sending one twice costs nothing."""

    def __init__(self, broker_url: str) -> None:
        self._app = celery_app(broker_url)

    def send(self, run: str, job: WantedJob, *, backend: str, lane: Lane) -> None:
        message = TryJob(
            job=job.id,
            run=run,
            backend=backend,
            lane=lane,
            judge=sha256_hex(job.judge) if job.judge is not None else None,
            judge_version=job.judge_version,
        )
        try:
            self._app.send_task(
                TASK_NAMES[job.spec.kind],
                args=[message.model_dump(mode="json", exclude_none=True)],
                queue=queue_of(backend, quarantine=lane == "quarantine"),
                # What Flower shows instead of the arguments.
                argsrepr=f"{run} / {job.label}",
                kwargsrepr="",
            )
        except OperationalError as error:
            raise StateUnavailable(f"the broker cannot be reached: {error}") from error

    def close(self) -> None:
        self._app.close()
