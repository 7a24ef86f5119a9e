"""The Celery app of a worker process, built around its container."""

from __future__ import annotations

from typing import Any

from celery import Celery

from skillopt.domain.jobs import JobKind
from skillopt.wire.tasks import OUTCOME_WORDS, TASK_NAMES
from workers.celeryconfig import settings
from workers.container import Container
from workers.delivery import Runner, handle
from workers.tasks import judge, optimize, rollout

_RUNNERS: dict[JobKind, Runner] = {
    "rollout": rollout.run,
    "judge": judge.run,
    "optimize": optimize.run,
}


def create_app(container: Container, broker_url: str) -> Celery:
    """Build the app and register one task per kind of job."""
    app = Celery("skillopt", set_as_current=False)
    app.conf.update(settings(broker_url))
    for kind, runner in _RUNNERS.items():
        _register(app, container, kind, runner)
    return app


def _register(app: Celery, container: Container, kind: JobKind, runner: Runner) -> None:
    def task(*arguments: Any, **named: Any) -> str:  # noqa: ANN401 - whatever arrived
        payload = arguments[0] if len(arguments) == 1 and not named else None
        word = handle(container, kind, payload, runner)
        return word if word in OUTCOME_WORDS else "error"

    # Not shared: another app of this process would be given this container's tasks.
    app.task(task, name=TASK_NAMES[kind], ignore_result=True, shared=False)
