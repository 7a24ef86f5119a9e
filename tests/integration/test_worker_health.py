"""Real workers: what they say of their health, and how they leave."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from private_redis import redis_on_a_port
from worker_fleet import KEY, WorkerFleet, WorkerProcess, until

from skillopt.health import STOOD_STILL, complaints
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running
from skillopt.state.ports import Amount, WantStatus

MakeFleet = Callable[..., WorkerFleet]
ALERT = {"SKILLOPT_TIMING_HEALTH_S": "0.1", "SKILLOPT_TIMING_WATCHDOG_S": "3"}


@pytest.fixture
def make_fleet(redis_url: str, tmp_path: Path) -> Iterator[MakeFleet]:
    """Make a fleet with a simulator of its own; its processes end with the test."""
    with ExitStack() as opened:

        def make(url: str = redis_url, **simulator: Any) -> WorkerFleet:
            options = SimulatorOptions(**{"api_key": KEY, **simulator})
            provider = opened.enter_context(running(options))
            fleet = WorkerFleet(url, tmp_path, provider, ALERT)
            opened.callback(fleet.close)
            return fleet

        yield make


@pytest.fixture
def health(tmp_path: Path) -> Path:
    return tmp_path / "health"


def is_ready(path: Path) -> bool:
    return complaints(path, ready=True, now=time.monotonic()) == []


def why_not_ready(path: Path) -> str:
    return "; ".join(complaints(path, ready=True, now=time.monotonic()))


def is_live(path: Path) -> bool:
    return complaints(path, ready=False, now=time.monotonic()) == []


# --- health -------------------------------------------------------------------------------------


def test_a_worker_is_ready_once_it_consumes_and_takes_its_report_back(
    make_fleet: MakeFleet, health: Path
) -> None:
    fleet = make_fleet()
    worker = fleet.start("1", "--health-file", str(health))
    until(lambda: is_ready(health), "a ready worker", worker)
    asked = subprocess.run(
        [sys.executable, "-m", "skillopt.health", str(health), "--ready"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, "", "")
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() == 0
    assert not health.exists()


def test_a_health_file_that_cannot_be_written_is_refused(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    worker = make_fleet().start(
        "1", "--health-file", str(tmp_path / "nowhere" / "health"), ready=False
    )
    assert worker.exit_code() == 2
    assert "nowhere" in worker.text()


def test_a_worker_without_its_redis_is_live_but_not_ready_and_never_gives_up(
    make_fleet: MakeFleet, health: Path
) -> None:
    with redis_on_a_port() as url:
        fleet = make_fleet(url)
        worker = fleet.start("1", "--health-file", str(health))
        until(lambda: is_ready(health), "a ready worker", worker)
    went = time.monotonic()
    until(lambda: "the state does not answer" in why_not_ready(health), "the loss", worker)
    until(lambda: "not connected to its queue" in why_not_ready(health), "the loss", worker)
    until(lambda: time.monotonic() > went + 5, "more than the watchdog's time")
    assert is_live(health)
    assert worker.process.poll() is None, worker.text()
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() == 0, "also while it waits for its Redis"


# --- the watchdog -------------------------------------------------------------------------------


def test_a_worker_that_lives_but_takes_no_message_leaves_to_be_started_again(
    make_fleet: MakeFleet, health: Path
) -> None:
    fleet = make_fleet()
    worker = fleet.start("1", "--health-file", str(health))
    # As after some broker faults: connected, alive, and deaf.
    fleet.dispatcher._app.control.cancel_consumer("b.sim")
    until(lambda: "not connected to its queue" in why_not_ready(health), "deafness", worker)
    job = fleet.rollout()
    fleet.ask_for(job)
    assert worker.exit_code() == STOOD_STILL
    assert "1 messages wait and none was taken for 3 s" in worker.text()
    assert not is_live(health)
    fleet.start("2")
    assert fleet.reply(job).text


def test_long_calls_with_more_work_waiting_are_no_standstill(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(latency_s=4.5)
    worker = fleet.start(concurrency=1)
    first, second = fleet.rollout(1), fleet.rollout(2)
    fleet.ask_for(first)
    fleet.in_flight()
    fleet.ask_for(second)
    fleet.result(first)
    assert worker.process.poll() is None, worker.text()
    fleet.control(latency_s=0)
    fleet.result(second)


def test_waiting_for_a_limit_is_no_standstill(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(rpm=1, window_s=4.0)
    worker = fleet.start(concurrency=1)
    jobs = [fleet.rollout(number) for number in range(2)]
    for job in jobs:
        fleet.ask_for(job)
    for job in jobs:
        fleet.brought(job)
    assert worker.process.poll() is None, worker.text()


# --- leaving ------------------------------------------------------------------------------------


def cut_and_given_back(fleet: WorkerFleet, worker: WorkerProcess, *numbers: int) -> None:
    job = fleet.rollout()
    fleet.ask_for(job)
    fleet.in_flight()
    for times, number in enumerate(numbers, start=1):
        worker.tell(signal.Signals(number))
        until(lambda: worker.text().count("told to stop") >= times, "the signal", worker)  # noqa: B023
    assert worker.exit_code() == 0, worker.text()
    again = fleet.want(job)
    assert again.status is WantStatus.SEND, "at once, its lease is not waited for"
    assert again.reason.startswith("draining")
    assert fleet.state.fleet.workers() == []
    until(lambda: fleet.stats()["in_flight"] == 0, "the end of the call")
    assert fleet.spend().reserved == Amount()
    fleet.send(job)
    fleet.control(latency_s=0)
    fleet.start("2")
    assert fleet.reply(job).text


def test_a_second_sigterm_cuts_the_call_and_gives_its_job_back(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(latency_s=600.0)
    worker = fleet.start(SKILLOPT_TIMING_DRAIN_S="600")
    cut_and_given_back(fleet, worker, signal.SIGTERM, signal.SIGTERM)


def test_sigquit_cuts_the_call_and_gives_its_job_back(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(latency_s=600.0)
    worker = fleet.start(SKILLOPT_TIMING_DRAIN_S="600")
    cut_and_given_back(fleet, worker, signal.SIGQUIT)


def test_sigterm_in_the_boot_ends_a_worker_that_finds_no_redis(
    make_fleet: MakeFleet, health: Path, redis_url: str
) -> None:
    fleet = make_fleet()
    nobody = "redis://127.0.0.1:1/0"
    worker = fleet.start("1", "--health-file", str(health), ready=False, SKILLOPT_REDIS_URL=nobody)
    until(lambda: "Cannot connect" in worker.text(), "a try to connect", worker)
    assert is_live(health)
    assert not is_ready(health)
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() == 0


def test_sigterm_at_any_moment_of_the_boot_leaves_nothing_announced(
    make_fleet: MakeFleet, health: Path
) -> None:
    fleet = make_fleet()
    worker = fleet.start("1", "--health-file", str(health), ready=False)
    until(health.exists, "the beginning of the boot", worker)
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() in (0, -signal.SIGTERM)
    assert fleet.state.fleet.workers() == []
