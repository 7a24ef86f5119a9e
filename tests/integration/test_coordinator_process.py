"""Real coordinators: what they say of their health, and how a run passes from one to another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
from private_redis import redis_on_a_port
from scripted_run import make_plan
from worker_fleet import WorkerProcess, until

from producer.run_folder import RunFolder
from producer.submit import submit
from skillopt.config.runtime import timing
from skillopt.health import complaints
from skillopt.state.keys import run_lease
from skillopt.state.redis.connect import connect
from skillopt.state.urls import state_url

#: No test waits this long for a lease: a run that changes hands was given up.
LONG_LEASE = {
    "SKILLOPT_TIMING_LEAD_S": "600",
    "SKILLOPT_TIMING_TICK_S": "0.2",
    "SKILLOPT_TIMING_HEALTH_S": "0.1",
}

Start = Callable[..., WorkerProcess]


@pytest.fixture
def start(redis_url: str, tmp_path: Path) -> Iterator[Start]:
    """Start coordinators of one folder of runs; they end with the test."""
    with ExitStack() as opened:

        def start(name: str, *arguments: str, url: str = redis_url) -> WorkerProcess:
            log = tmp_path / f"{name}.log"
            command = [sys.executable, "-m", "producer.coordinator"]
            command += ["--runs-dir", str(tmp_path / "runs")]
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [*command, "--health-file", str(tmp_path / name), *arguments],
                    env={**os.environ, **LONG_LEASE, "SKILLOPT_REDIS_URL": url},
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            coordinator = WorkerProcess(process, log)
            opened.callback(coordinator.end)
            return coordinator

        yield start


def submitted(url: str, folder: Path) -> str:
    """Submit a run for which no worker is there: it stays in its coordinator's hands."""
    plan = make_plan()
    RunFolder(folder / "runs" / plan.run_id).create(plan, {})
    with connect(url, timing(LONG_LEASE)) as state:
        return submit(state, plan, meta={}, wait=time.sleep).run


def leads(url: str, run: str, coordinator: WorkerProcess) -> bool:
    with redis.Redis.from_url(state_url(url), decode_responses=True) as client:
        owner = client.hget(run_lease(run), "owner")
    return owner is not None and owner.split(":")[1] == str(coordinator.pid)


def why_not_ready(path: Path) -> str:
    return "; ".join(complaints(path, ready=True, now=time.monotonic()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_coordinator_told_to_stop_gives_its_run_up_and_another_goes_on_at_once(
    start: Start, redis_url: str, tmp_path: Path, number: signal.Signals
) -> None:
    run = submitted(redis_url, tmp_path)
    first = start("first")
    until(lambda: leads(redis_url, run, first), "a leader", first)
    second = start("second")
    until(lambda: why_not_ready(tmp_path / "second") == "", "a coordinator that waits", second)
    assert leads(redis_url, run, first), "a run has one leader"
    first.tell(number)
    assert first.exit_code() == 0, first.text()
    assert not (tmp_path / "first").exists(), "it takes its report back"
    until(lambda: leads(redis_url, run, second), "its successor", second)
    assert "run_created" in (tmp_path / "runs" / run / "events.jsonl").read_text()


def test_a_coordinator_of_one_run_gives_it_up_as_well(
    start: Start, redis_url: str, tmp_path: Path
) -> None:
    run = submitted(redis_url, tmp_path)
    first = start("first", "--run", run)
    until(lambda: leads(redis_url, run, first), "a leader", first)
    first.tell(signal.SIGTERM)
    assert first.exit_code() == 0, first.text()
    second = start("second", "--run", run)
    until(lambda: leads(redis_url, run, second), "its successor", second)


def test_a_coordinator_that_is_killed_keeps_its_run_until_the_lease_lapses(
    start: Start, redis_url: str, tmp_path: Path
) -> None:
    run = submitted(redis_url, tmp_path)
    first = start("first")
    until(lambda: leads(redis_url, run, first), "a leader", first)
    first.tell(signal.SIGKILL)
    first.exit_code()
    assert "is gone" in why_not_ready(tmp_path / "first")
    second = start("second")
    until(lambda: why_not_ready(tmp_path / "second") == "", "a coordinator that waits", second)
    assert leads(redis_url, run, first)


def test_a_coordinator_without_its_redis_is_live_but_not_ready_and_says_why(
    start: Start, tmp_path: Path
) -> None:
    health = tmp_path / "first"
    with redis_on_a_port() as url:
        coordinator = start("first", url=url)
        until(lambda: why_not_ready(health) == "", "a ready coordinator", coordinator)
    until(lambda: "the state does not answer" in why_not_ready(health), "the loss", coordinator)
    assert complaints(health, ready=False, now=time.monotonic()) == []
    coordinator.tell(signal.SIGTERM)
    assert coordinator.exit_code() == 0, "also while it waits for its Redis"


def test_a_coordinator_that_never_reached_its_redis_is_not_ready(
    start: Start, tmp_path: Path
) -> None:
    coordinator = start("first", url="redis://127.0.0.1:1/0")
    until((tmp_path / "first").exists, "a report", coordinator)
    assert why_not_ready(tmp_path / "first") != ""
    until(
        lambda: "the state does not answer" in why_not_ready(tmp_path / "first"),
        "the words for it",
        coordinator,
    )


def test_a_stopped_coordinator_gives_no_sign_of_life_and_recovers(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LONG_LEASE, "SKILLOPT_TIMING_HEALTH_STALE_S", "1")
    monkeypatch.setitem(LONG_LEASE, "SKILLOPT_TIMING_WATCHDOG_S", "1")
    health = tmp_path / "first"
    coordinator = start("first")
    until(lambda: why_not_ready(health) == "", "a ready coordinator", coordinator)
    coordinator.tell(signal.SIGSTOP)
    until(lambda: "no sign of life" in why_not_ready(health), "the silence", coordinator)
    told = health.stat().st_mtime_ns
    coordinator.tell(signal.SIGCONT)
    until(lambda: health.stat().st_mtime_ns != told, "the next report", coordinator)
    assert why_not_ready(health) == "", "nobody could have moved while it was stopped"


def test_a_health_file_that_cannot_be_written_is_refused_by_name(
    start: Start, tmp_path: Path
) -> None:
    coordinator = start("first", "--health-file", str(tmp_path / "nowhere" / "first"))
    assert coordinator.exit_code() == 4
    assert "nowhere" in coordinator.text()
