"""What a coordinator tells of the runs it drives: figures for Prometheus.

It looks on from outside, at the ports the coordinator uses. The figures of a run are gone when
this coordinator no longer drives it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from skillopt.domain.events import Gated, decode_event
from skillopt.domain.view import ShareView, read_view
from skillopt.state.ports import Lead, State, WantAnswer, WantStatus
from skillopt.telemetry.observed import observed

S = TypeVar("S", bound=State)


@dataclass
class _Driven:
    """What was last seen of a run."""

    fence: int
    shares: tuple[ShareView, ...] = ()
    score: float | None = None
    sent: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)


class CoordinatorTelemetry(Collector):
    """The figures of one coordinator process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._lock = threading.Lock()
        self._runs: dict[str, _Driven] = {}
        # Of all runs together: a figure of one run would be gone with it, perhaps unread.
        self._resent = Counter("so_resend_total", "Messages sent again.", registry=self.registry)
        self._dead = Counter("so_dead_total", "Jobs found dead.", registry=self.registry)
        self.registry.register(self)

    def watching(self, state: S) -> S:
        """Give the same state, looked on at."""
        return replace(
            state,
            runs=observed(
                state.runs,
                lead=self._led,
                resign=self._resigned,
                step=self._stepped,
                show_view=self._shown,
            ),
            board=observed(state.board, want=self._wanted),
        )

    def collect(self) -> Iterator[Metric]:
        """Give the figures of the moment; Prometheus calls it."""
        demand = GaugeMetricFamily("so_demand", "Jobs wanted and not done.", labels=["backend"])
        in_flight = GaugeMetricFamily(
            "so_inflight", "Jobs sent and not done.", labels=["run", "backend"]
        )
        fence = GaugeMetricFamily("so_fence", "The fence a run is driven under.", labels=["run"])
        score = GaugeMetricFamily(
            "so_gate_score", "Score of the document in force, at the last gate.", labels=["run"]
        )
        wanted: dict[str, int] = {}
        with self._lock:
            for run, driven in sorted(self._runs.items()):
                fence.add_metric([run], driven.fence)
                if driven.score is not None:
                    score.add_metric([run], driven.score)
                for share in driven.shares:
                    in_flight.add_metric([run, share.backend], share.in_flight)
                    wanted[share.backend] = wanted.get(share.backend, 0) + share.wanted
        for backend, jobs in sorted(wanted.items()):
            demand.add_metric([backend], jobs)
        return iter((demand, in_flight, fence, score))

    # --- what is looked on at -----------------------------------------------------------------

    def _led(self, lead: Callable[[str, str], Lead | None], run: str, owner: str) -> Lead | None:
        given = lead(run, owner)
        if given is not None:
            with self._lock:
                known = self._runs.setdefault(run, _Driven(given.fence))
                known.fence = given.fence
        return given

    def _resigned(self, resign: Callable[[Lead], None], lead: Lead) -> None:
        with self._lock:
            self._runs.pop(lead.run, None)
        resign(lead)

    def _stepped(
        self,
        step: Callable[..., int],
        lead: Lead,
        *,
        events: Sequence[str],
        **named: Any,  # noqa: ANN401 - as the operation
    ) -> int:
        version = step(lead, events=events, **named)
        for event in map(decode_event, events):
            if isinstance(event, Gated):
                self._gated(lead.run, event)
        return version

    def _gated(self, run: str, event: Gated) -> None:
        score = event.candidate_score if event.adopted else event.current_score
        with self._lock:
            if run in self._runs and score is not None:
                self._runs[run].score = score

    def _shown(self, show: Callable[[str, str], None], run: str, view: str) -> None:
        show(run, view)
        with self._lock:
            if run in self._runs:
                self._runs[run].shares = read_view(view).shares

    def _wanted(
        self,
        want: Callable[..., list[WantAnswer]],
        lead: Lead,
        *wants: Any,  # noqa: ANN401 - as the operation
        **named: Any,  # noqa: ANN401
    ) -> list[WantAnswer]:
        answers = want(lead, *wants, **named)
        with self._lock:
            driven = self._runs.get(lead.run)
            if driven is not None:
                sent = {one.job for one in answers if one.status is WantStatus.SEND}
                dead = {one.job for one in answers if one.status is WantStatus.DEAD}
                self._resent.inc(len(sent & driven.sent))
                self._dead.inc(len(dead - driven.dead))
                driven.sent |= sent
                driven.dead |= dead
        return answers
