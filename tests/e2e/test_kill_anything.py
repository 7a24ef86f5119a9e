"""SIGKILL anything in mid-run: same bytes, same decisions, nothing left behind."""

from __future__ import annotations

import json
import os
import signal

import pytest
from fleet_command import FleetCommand, until

pytestmark = pytest.mark.xdist_group("e2e")


def test_undisturbed_run_learns_and_leaves_nothing_running(undisturbed: FleetCommand) -> None:
    summary = undisturbed.summary()
    assert summary["state"] == "finished"
    assert summary["initial"]["test"]["hard"] < 0.2
    assert summary["best"]["test"]["hard"] > 0.8
    assert summary["accepted"] >= 2
    assert summary["rejected"] >= 1
    assert undisturbed.every_process() == []


def test_worker_killed(command, undisturbed: FleetCommand) -> None:
    run = command().start()
    run.wait_for("reflected")
    run.kill("-m workers")
    assert run.wait() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()
    assert run.summary()["executions"] >= undisturbed.summary()["executions"]


@pytest.mark.slow
def test_worker_killed_three_times(command, undisturbed: FleetCommand) -> None:
    run = command().start()
    for step in (1, 2, 3):
        run.wait_for("step_started", step)
        run.kill("-m workers")
    assert run.wait() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()


@pytest.mark.slow
def test_coordinator_killed(command, undisturbed: FleetCommand) -> None:
    run = command().start()
    run.wait_for("proposed")
    run.kill("producer.coordinator")
    assert run.wait() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()


@pytest.mark.slow
def test_redis_killed(command, undisturbed: FleetCommand) -> None:
    run = command().start()
    run.wait_for("reflected", 2)
    os.kill(run.redis_pid(), signal.SIGKILL)
    assert run.wait() == 0, run.err() + run.logs()
    assert run.decisions() == undisturbed.decisions()


def test_the_command_itself_killed_then_given_again(command, undisturbed: FleetCommand) -> None:
    run = command().start()
    run.wait_for("gated")
    assert run.process is not None
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    first_events = len(run.events())
    until(lambda: not run.every_process(), "the end of every child", 30)
    assert run.run() == 0, run.err()
    assert len(run.events()) > first_events
    assert run.decisions() == undisturbed.decisions()
    # Only what was in flight is paid again.
    whole = undisturbed.summary()["calls"]["total"]
    assert run.summary()["new_calls"] < whole
    assert run.summary()["calls"]["total"] - whole <= 2 * 16


def test_ctrl_c_leaves_nothing_and_continues_later(command, undisturbed: FleetCommand) -> None:
    run = command().start()
    run.wait_for("step_started", 2)
    assert run.process is not None
    os.kill(run.process.pid, signal.SIGINT)
    assert run.wait() == 130
    assert run.every_process() == []
    assert run.run() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()


def test_the_same_command_again_makes_no_call(undisturbed: FleetCommand) -> None:
    again = FleetCommand(undisturbed.folder)
    assert again.run() == 0
    assert again.summary()["new_calls"] == 0
    assert again.summary()["best"] == undisturbed.summary()["best"]


@pytest.mark.parametrize("workers", [4])
def test_one_worker_or_four_give_the_same_bytes(
    command, undisturbed: FleetCommand, workers: int
) -> None:
    run = command("four", "--workers", str(workers))
    assert run.run() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()


@pytest.mark.parametrize("kind", ["500", "refuse"])
def test_an_outage_changes_no_score_and_no_decision(
    command, undisturbed: FleetCommand, kind: str
) -> None:
    run = command().start()
    run.wait_for("step_started", 2)
    run.simulator("/control", {"outage_s": 10, "outage_kind": kind})
    assert run.wait() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()
    assert b"accept" in run.decisions()["history.jsonl"], "a run without steps proves nothing"


def test_a_store_in_use_says_who_holds_it(command) -> None:
    run = command(latency_s=1.0).start()
    run.wait_for("run_created")
    other = FleetCommand(run.folder)
    assert run.process is not None
    (run.folder / "err").rename(run.folder / "err.first")
    assert other.run() == 2
    message = json.loads((run.folder / "out").read_text())["error"]["message"]
    assert str(run.process.pid) in message
    assert "skillopt run" in message
