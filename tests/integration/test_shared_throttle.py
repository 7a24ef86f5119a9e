"""Several real workers on one credential: its limits, overload, outages and kills."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from worker_fleet import KEY, WorkerFleet, until

from skillopt.backends.registry import open_backend
from skillopt.domain.backend import Limits
from skillopt.gateway.throttling import scope_of
from skillopt.loop.jobs import WantedJob
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running
from skillopt.state.ports import Standing, ThrottleScope, WantStatus

MakeFleet = Callable[..., "ThrottledFleet"]


class ThrottledFleet(WorkerFleet):
    """A fleet whose backend has limits."""

    def limit(self, **limits: int) -> None:
        self.backend = self.backend.model_copy(update={"limits": Limits(**limits)})

    async def _scope(self) -> ThrottleScope:
        chat = open_backend(self.backend, self.environ)
        await chat.close()
        return scope_of(self.backend, chat)

    def standing(self) -> Standing:
        if not hasattr(self, "_known_scope"):
            self._known_scope = asyncio.run(self._scope())
        return self.state.throttle.standing(self._known_scope, self.backend.limits)

    def start_all(self, count: int, *, concurrency: int) -> None:
        names = [str(number) for number in range(1, count + 1)]
        for name in names:
            self.start(name, concurrency=concurrency, ready=False)
        for name in names:
            until(lambda name=name: self.announced(name), "a worker", *self.workers)

    def all_brought(self, jobs: list[WantedJob]) -> None:
        """Ask for jobs, as a coordinator does, until each has its result."""
        missing = list(jobs)

        def another() -> bool:
            before = len(missing)
            missing[:] = [job for job in missing if self.ask_for(job).status is not WantStatus.HIT]
            return len(missing) < before

        # Many jobs take longer than a single wait, but never stand still.
        while missing:
            until(another, "another result", *self.workers)


@pytest.fixture
def make_fleet(redis_url: str, tmp_path: Path) -> Iterator[MakeFleet]:
    with ExitStack() as opened:

        def make(environ: dict[str, str] | None = None, **simulator: Any) -> ThrottledFleet:
            provider = opened.enter_context(running(SimulatorOptions(api_key=KEY, **simulator)))
            scaled = {f"SKILLOPT_TIMING_{name}": text for name, text in (environ or {}).items()}
            fleet = ThrottledFleet(redis_url, tmp_path, provider, scaled)
            opened.callback(fleet.close)
            return fleet

        yield make


SCALED_MINUTE = {"LIMIT_WINDOW_S": "3", "LIMIT_SLACK_S": "1"}


def test_workers_of_one_credential_never_start_more_calls_than_it_allows(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(SCALED_MINUTE, rpm=100, window_s=3.0)
    fleet.limit(rpm=100)
    fleet.start_all(8, concurrency=4)
    fleet.all_brought([fleet.rollout(number) for number in range(150)])
    stats = fleet.stats()
    assert stats["violations"]["total"] == 0
    assert stats["calls"]["total"] == 150
    assert fleet.state.throttle.waiting(["sim"])["sim"].why == "rpm", "the limit was met"


def test_the_same_workers_without_the_limit_start_too_many_calls(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(SCALED_MINUTE, rpm=20, window_s=3.0)
    fleet.start_all(2, concurrency=16)
    for number in range(60):
        fleet.ask_for(fleet.rollout(number))
    until(lambda: fleet.stats()["violations"]["rpm"], "a violation", *fleet.workers)


def test_tokens_stay_within_the_limit_of_the_credential(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(SCALED_MINUTE, tpm=20_000, window_s=3.0)
    fleet.limit(tpm=20_000)
    fleet.start_all(2, concurrency=8)
    fleet.all_brought([fleet.rollout(number) for number in range(60)])
    assert fleet.stats()["violations"]["total"] == 0
    assert fleet.state.throttle.waiting(["sim"])["sim"].why == "tpm", "the limit was met"


@pytest.mark.parametrize(
    ("trouble", "relief"),
    [
        ({"outage_s": 3600, "outage_kind": "529"}, {"outage_s": 0}),
        ({"rpm": 1}, {"rpm": None}),  # a 429 that says how long to wait, which holds everybody
    ],
)
def test_overload_walks_the_calls_at_a_time_to_their_minimum_and_back_up(
    make_fleet: MakeFleet, trouble: dict[str, Any], relief: dict[str, Any]
) -> None:
    environ = {"CONCURRENCY_COOLDOWN_S": "0.1", "CONCURRENCY_GROWTH_S": "0.3"}
    environ |= {"THROTTLE_POLL_S": "0.05", "THROTTLE_SHOWN_S": "60"}
    fleet = make_fleet(environ, latency_s=0.05, window_s=1.0)
    fleet.limit(concurrency=8, min_concurrency=2)
    fleet.start_all(2, concurrency=8)
    asked, wanted = [0], list[WantedJob]()

    def busy() -> None:
        """Keep more jobs wanted than can be in flight."""
        statuses = [fleet.ask_for(job).status for job in wanted]
        for job, status in zip(list(wanted), statuses, strict=True):
            if status is WantStatus.HIT:
                wanted.remove(job)
        while len(wanted) < 40:
            asked[0] += 1
            wanted.append(fleet.rollout(asked[0]))

    def allowed() -> int | None:
        busy()
        return fleet.standing().allowed

    fleet.control(**trouble)
    until(lambda: allowed() == 2, "the fewest calls at a time", *fleet.workers)
    assert fleet.stats()["peak_concurrency"] <= 8
    fleet.control(**relief, reset_stats=True)
    until(lambda: allowed() == 8, "the most calls at a time", *fleet.workers)
    assert fleet.stats()["peak_concurrency"] <= 8


def test_an_endpoint_that_is_down_is_left_alone_until_it_answers_again(
    make_fleet: MakeFleet,
) -> None:
    environ = {"BREAKER_FAILURES": "4", "BREAKER_OPEN_S": "1", "THROTTLE_WAIT_S": "0.5"}
    fleet = make_fleet(environ)
    fleet.start_all(2, concurrency=2)
    fleet.control(outage_s=3600, outage_kind="500")
    jobs = [fleet.rollout(number) for number in range(8)]
    for job in jobs:
        fleet.ask_for(job)

    def reasons() -> list[str]:
        return [fleet.ask_for(job).reason for job in jobs]

    given_back = "endpoint_down: the endpoint of backend 'sim' is down (HTTP 500"
    until(lambda: any(r.startswith(given_back) for r in reasons()), "a job back", *fleet.workers)
    assert fleet.state.throttle.waiting(["sim"])["sim"].why == "breaker"
    assert fleet.standing().breaker in ("open", "probing")
    fleet.control(outage_s=0)
    fleet.all_brought(jobs)
    assert fleet.standing().breaker == "closed"


def test_slots_of_a_killed_worker_come_back(make_fleet: MakeFleet) -> None:
    fleet = make_fleet({"THROTTLE_POLL_S": "0.05"})
    fleet.limit(concurrency=2)
    doomed = fleet.start("1", concurrency=2)
    fleet.control(outage_s=3600, outage_kind="stall")
    jobs = [fleet.rollout(number) for number in range(2)]
    for job in jobs:
        fleet.ask_for(job)
    fleet.in_flight(2)
    doomed.tell(signal.SIGKILL)
    doomed.exit_code()
    assert fleet.standing().in_flight == 2
    fleet.control(outage_s=0)
    fleet.start("2", concurrency=2)
    fleet.all_brought(jobs)
    until(lambda: fleet.standing().in_flight == 0, "the end of every slot")
