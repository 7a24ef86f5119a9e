"""What one worker process is made of; built once, at boot."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from skillopt import __version__
from skillopt.backends.base import ChatBackend
from skillopt.backends.cli.kinds import with_own_version
from skillopt.backends.registry import open_backend
from skillopt.domain.backend import Backend
from skillopt.domain.timing import Timing
from skillopt.domain.usage import Role
from skillopt.errors import CallTimeout
from skillopt.gateway.gateway import Gateway, JobCalls
from skillopt.gateway.retry import RetryPolicy
from skillopt.gateway.throttling import scope_of
from skillopt.state.ports import Lane, State, WorkerInfo
from workers.heartbeat import Heartbeat
from workers.held import Held, JobStopped, Stop
from workers.http_loop import HttpLoop
from workers.inputs import Inputs
from workers.live_limits import LiveLimits
from workers.patience import patiently

T = TypeVar("T")


@dataclass(frozen=True)
class Container:
    """Everything a job needs, wired."""

    name: str
    backend: Backend
    lane: Lane
    state: State
    inputs: Inputs
    timing: Timing
    policy: RetryPolicy
    chat: ChatBackend
    http: HttpLoop
    heartbeat: Heartbeat
    limits: LiveLimits
    new_id: Callable[[], str]

    def calls_of(self, held: Held, role: Role) -> JobCalls:
        """Give a job its way to the model."""

        def wait(seconds: float) -> None:
            with held.busy_for(seconds):
                stopped = held.stopped.wait(seconds)
            if stopped:
                raise JobStopped(held.stop or Stop.DRAINING)

        def run(coroutine: Coroutine[Any, Any, T]) -> T:
            if held.stop is not None:
                coroutine.close()  # never awaited: no warning
                raise JobStopped(held.stop)
            waited_s = self.backend.longest_call_s
            try:
                with held.busy_for(waited_s):
                    return self.http.call(coroutine, held, waited_s)
            except TimeoutError:
                raise CallTimeout(f"no answer within {waited_s:g} s") from None

        gateway = Gateway(
            backend=self.backend,
            chat=self.chat,
            budgets=self.state.budgets,
            throttle=self.state.throttle,
            run=run,
            monotonic=time.monotonic,
            uniform=random.random,
            new_id=self.new_id,
            patiently=patiently,
            throttle_wait_s=self.timing.throttle_wait_s,
            policy=self.policy,
            live_limits=self.limits,
        )
        return JobCalls(gateway, held.run, held.job, role, wait, held.reservations)

    def close(self) -> None:
        self.heartbeat.end()
        self.http.run(self.chat.close())
        self.http.close()


def build(
    *,
    name: str,
    backend: Backend,
    lane: Lane,
    concurrency: int,
    state: State,
    timing: Timing,
    policy: RetryPolicy,
    environ: Mapping[str, str],
) -> Container:
    http = HttpLoop()

    async def connect() -> tuple[ChatBackend, Backend]:
        chat = open_backend(backend, environ)
        return chat, await with_own_version(backend, chat)

    chat, backend = http.run(connect())
    scope = scope_of(backend, chat)
    info = WorkerInfo(
        worker=name,
        backend=backend.name,
        fingerprint=backend.fingerprint,
        capacity=concurrency,
        lane=lane,
        version=__version__,
        credential=scope.credential,
        endpoint=scope.endpoint,
        limits=backend.limits.model_dump(exclude_none=True),
    )
    return Container(
        name=name,
        backend=backend,
        lane=lane,
        state=state,
        inputs=Inputs(state.blobs),
        timing=timing,
        policy=policy,
        chat=chat,
        http=http,
        limits=LiveLimits(state.limits, backend, every_s=timing.limits_s),
        heartbeat=Heartbeat(state, info, timing.heartbeat_s, scope),
        new_id=lambda: uuid.uuid4().hex,
    )
