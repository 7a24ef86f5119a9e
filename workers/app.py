"""The Celery app of a worker process, built around its container."""

from __future__ import annotations

from typing import Any

from celery import Celery, signals

from skillopt.domain.jobs import JobKind
from skillopt.telemetry.log_lines import log_about
from skillopt.wire.tasks import OUTCOME_WORDS, TASK_NAMES
from workers.celeryconfig import settings
from workers.container import Container
from workers.delivery import Runner, handle
from workers.refusing import refuse_message
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
    _refuse_other_kinds(app, container)
    return app


def _register(app: Celery, container: Container, kind: JobKind, runner: Runner) -> None:
    def task(*arguments: Any, **named: Any) -> str:  # noqa: ANN401 - whatever arrived
        payload = arguments[0] if len(arguments) == 1 and not named else None
        with log_about(backend=container.backend.name, worker=container.name):
            word = handle(container, kind, payload, runner)
        return word if word in OUTCOME_WORDS else "error"

    # Not shared: another app of this process would be given this container's tasks.
    app.task(task, name=TASK_NAMES[kind], ignore_result=True, shared=False)


def _refuse_other_kinds(app: Celery, container: Container) -> None:
    """Have the run told that waits for a kind of job this version does not know."""

    def refuse(sender: Any = None, message: Any = None, **_: object) -> None:  # noqa: ANN401 - Celery's own
        if getattr(sender, "app", None) is not app:
            return
        arguments = _arguments(message)
        if arguments:
            refuse_message(container, arguments[0], "the kind of the job is not known to it")

    # Weak references would be gone at once; the app lives as long as its process.
    signals.task_unknown.connect(refuse, weak=False)


def _arguments(message: Any) -> list[Any]:  # noqa: ANN401 - whatever arrived
    """Give the arguments of a task's message; none if it is built otherwise."""
    body = message.payload
    arguments = body[0] if isinstance(body, list | tuple) and body else None
    return list(arguments) if isinstance(arguments, list | tuple) else []
