"""Processes that hang, and workers that are replaced one after the other, in mid-run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from fleet_command import FleetCommand, until

from skillopt.health import complaints

pytestmark = pytest.mark.xdist_group("e2e")


def is_ready(path: Path) -> bool:
    return complaints(path, ready=True, now=time.monotonic()) == []


def replaced(run: FleetCommand, pid: int, *words: str) -> bool:
    found = run.pids(*words)
    return pid not in found and len(found) >= 1


@pytest.mark.parametrize(
    "words", [("-m workers",), ("producer.coordinator",), ("skillopt.simulator",)]
)
def test_a_hung_process_is_noticed_and_replaced_and_nothing_changes(
    command, undisturbed: FleetCommand, words: tuple[str, ...]
) -> None:
    run = command()
    run.environment["SKILLOPT_TIMING_HEALTH_STALE_S"] = "4"
    run.start()
    run.wait_for("reflected")
    pid = until(lambda: next(iter(run.pids(*words)), None), "the process")
    os.kill(pid, signal.SIGSTOP)
    until(lambda: replaced(run, pid, *words), "its successor")
    assert run.wait() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()
    assert "ended: it gave no sign of life for 4 s, so it was killed; it is started again" in (
        run.err()
    )


@pytest.mark.slow
def test_a_hung_redis_is_noticed_and_replaced_and_nothing_changes(
    command, undisturbed: FleetCommand
) -> None:
    run = command()
    run.environment["SKILLOPT_TIMING_HEALTH_STALE_S"] = "2"
    run.start()
    run.wait_for("reflected")
    os.kill(run.redis_pid(), signal.SIGSTOP)
    assert run.wait() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()
    assert "redis ended: it gave no sign of life for 2 s" in run.err()


def test_a_rolling_restart_of_all_workers_loses_nothing_and_repeats_no_call(
    command, undisturbed: FleetCommand
) -> None:
    run = command("rolling", "--workers", "3", latency_s=0.4).start()
    run.wait_for("run_created")
    for number in (1, 2, 3):
        words = ("-m workers", f"--name {number}-")
        health = run.store / "health" / f"worker-sim-{number}"
        until(lambda health=health: is_ready(health), "a ready worker")
        [pid] = run.pids(*words)
        os.kill(pid, signal.SIGTERM)
        until(lambda pid=pid, words=words: replaced(run, pid, *words), "its successor")
        until(lambda health=health: is_ready(health), "a ready successor")
    assert run.wait() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()
    assert run.summary()["calls"] == undisturbed.summary()["calls"], "none is made twice"
    assert run.err().count("ended: exit code 0; it is started again") == 3
