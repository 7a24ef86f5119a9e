"""What a worker tells of its work: figures for Prometheus, and what its log lines are about.

It looks on from outside, at the ports the worker uses: no code of a job knows of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram

from skillopt.state.ports import Admission, CallEnd, Claim, ClaimStatus, RenewStatus, State
from skillopt.telemetry.log_lines import note_subjects
from skillopt.telemetry.observed import observed

S = TypeVar("S", bound=State)

#: Model calls take from a part of a second to minutes.
CALL_BUCKETS_S: Final = (0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
WAIT_BUCKETS_S: Final = (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300)


class WorkerTelemetry:
    """The figures of one worker process; its backend is a label of each."""

    def __init__(self, backend: str) -> None:
        self.registry = CollectorRegistry()
        self._backend = backend
        #: The call that each thread makes now: its slot, and when it asked or was let through.
        self._call = threading.local()
        self._exec = self._counter("so_exec_total", "Jobs that were begun.")
        self._commit = self._counter("so_commit_total", "Results that were written.")
        self._dup = self._counter("so_dup_total", "Results that another had written first.")
        self._lost = self._counter("so_lease_lost_total", "Jobs lost to another worker.")
        self._cost = self._counter("so_cost_usd_total", "Money that calls cost, in USD.")
        self._tokens = self._counter("so_tokens_total", "Tokens, in and out.", "dir")
        self._queue_wait = self._histogram(
            "so_queue_wait_seconds", "From the sending of a message to its claim.", WAIT_BUCKETS_S
        )
        self._limiter_wait = self._histogram(
            "so_limiter_wait_seconds", "How long calls waited for their turn.", WAIT_BUCKETS_S
        )
        self._called = self._histogram(
            "so_call_seconds", "From a call's turn to its end.", CALL_BUCKETS_S, "status"
        )

    def watching(self, state: S) -> S:
        """Give the same state, looked on at."""
        return replace(
            state,
            claims=observed(
                state.claims, claim=self._claimed, commit=self._committed, renew=self._renewed
            ),
            budgets=observed(state.budgets, settle=self._settled),
            throttle=observed(state.throttle, admit=self._admitted, leave=self._left),
        )

    def _counter(self, name: str, words: str, *labels: str) -> Counter:
        return Counter(name, words, ["backend", *labels], registry=self.registry)

    def _histogram(
        self, name: str, words: str, buckets: Sequence[float], *labels: str
    ) -> Histogram:
        names = ["backend", *labels]
        return Histogram(name, words, names, buckets=buckets, registry=self.registry)

    # --- jobs -------------------------------------------------------------------------------

    def _claimed(
        self,
        claim: Callable[..., Claim],
        job: str,
        *,
        run: str,
        **named: Any,  # noqa: ANN401
    ) -> Claim:
        note_subjects(run=run, job=job)
        given = claim(job, run=run, **named)
        note_subjects(attempt=given.attempt)
        if given.status is ClaimStatus.RUN:
            self._exec.labels(self._backend).inc()
            if given.waited_s is not None:
                self._queue_wait.labels(self._backend).observe(given.waited_s)
        return given

    def _committed(
        self,
        commit: Callable[..., list[bool]],
        *finished: Any,  # noqa: ANN401
        **named: Any,  # noqa: ANN401
    ) -> list[bool]:
        won = commit(*finished, **named)
        self._commit.labels(self._backend).inc(sum(won))
        self._dup.labels(self._backend).inc(len(won) - sum(won))
        return won

    def _renewed(
        self, renew: Callable[..., dict[str, RenewStatus]], leases: Mapping[str, str]
    ) -> dict[str, RenewStatus]:
        answers = renew(leases)
        lost = sum(status is RenewStatus.LOST for status in answers.values())
        self._lost.labels(self._backend).inc(lost)
        return answers

    # --- calls ------------------------------------------------------------------------------

    def _admitted(
        self,
        admit: Callable[..., Admission],
        scope: object,
        limits: object,
        slot: str,
        **named: Any,  # noqa: ANN401
    ) -> Admission:
        if getattr(self._call, "slot", None) != slot:
            self._call.slot, self._call.since = slot, time.monotonic()
        answer = admit(scope, limits, slot, **named)
        if answer.granted:
            now = time.monotonic()
            self._limiter_wait.labels(self._backend).observe(now - self._call.since)
            self._call.since = now
        return answer

    def _left(
        self,
        leave: Callable[..., None],
        scope: object,
        limits: object,
        slot: str,
        end: CallEnd,
    ) -> None:
        leave(scope, limits, slot, end)
        if end.kind != "unsent" and getattr(self._call, "slot", None) == slot:
            took_s = time.monotonic() - self._call.since
            self._called.labels(self._backend, end.kind).observe(took_s)

    def _settled(
        self,
        settle: Callable[..., None],
        *call: Any,  # noqa: ANN401
        input_tokens: int,
        output_tokens: int,
        micro_usd: int,
        **named: Any,  # noqa: ANN401
    ) -> None:
        settle(
            *call,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            micro_usd=micro_usd,
            **named,
        )
        self._tokens.labels(self._backend, "in").inc(input_tokens)
        self._tokens.labels(self._backend, "out").inc(output_tokens)
        self._cost.labels(self._backend).inc(micro_usd / 1_000_000)
