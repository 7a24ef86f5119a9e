"""Redis is lost whole: the run's folder is enough to go on, with the same decisions."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from fleet_command import FAST, FleetCommand, skillopt, until

from skillopt.state.urls import state_url

pytestmark = pytest.mark.xdist_group("e2e")

#: Calls that the workers of a run may have in flight: two backends' uses of one worker's threads.
IN_FLIGHT = 2 * 16


def killed_after(run: FleetCommand, event: str, count: int = 1) -> None:
    """SIGKILL a command after an event and wait until nothing of it is left."""
    run.start().wait_for(event, count)
    assert run.process is not None
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    until(lambda: not run.every_process(), "the end of every child", 30)


def test_a_store_that_lost_its_redis_goes_on_by_the_same_command(
    command, undisturbed: FleetCommand
) -> None:
    run = command()
    killed_after(run, "gated")
    shutil.rmtree(run.store / "redis")
    assert run.run() == 0, run.err()
    assert "Redis does not have this run any more" in run.err()
    assert run.decisions() == undisturbed.decisions()
    summary, whole = run.summary(), undisturbed.summary()["calls"]["total"]
    assert summary["new_calls"] < whole
    assert whole <= summary["calls"]["total"] + IN_FLIGHT
    assert summary["calls"]["total"] - whole <= IN_FLIGHT, "only what was in flight is paid again"


def test_restore_rebuilds_a_copied_folder_in_a_new_store(
    command, undisturbed: FleetCommand, tmp_path: Path
) -> None:
    run = command()
    killed_after(run, "proposed")
    saved = tmp_path / "backup" / run.run_dir().name
    shutil.copytree(run.run_dir(), saved)
    shutil.rmtree(run.store)

    code, problem = skillopt("restore", str(saved), cwd=tmp_path)
    assert code == 2
    assert "--store" in problem["error"]["message"]
    for what in ("restored", "present"):
        folder = saved if what == "restored" else run.run_dir()
        code, done = skillopt("restore", str(folder), "--store", str(run.store), cwd=tmp_path)
        assert (code, done["what"], done["status"]) == (0, what, "running"), done
        assert done["run_dir"] == str(run.run_dir().resolve())
    code, problem = skillopt("restore", str(saved), "--store", str(run.store), cwd=tmp_path)
    assert code == 2
    assert "has a folder of run" in problem["error"]["message"]
    assert run.run() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()


def test_a_live_run_is_not_restored_over_and_a_damaged_folder_is_named(command) -> None:
    run = command(latency_s=0.5).start()
    run.wait_for("measured")
    code, problem = skillopt("restore", str(run.run_dir()), cwd=run.folder)
    assert code == 2
    assert "at work on it" in problem["error"]["message"]
    assert run.process is not None
    os.kill(run.process.pid, signal.SIGINT)
    assert run.wait() == 130
    shutil.rmtree(run.store / "redis")
    log = run.run_dir() / "events.jsonl"
    whole = log.read_text()
    log.write_text(whole.replace('"type":"measured"', '"type":"measure"', 1))
    code, problem = skillopt("restore", str(run.run_dir()), cwd=run.folder)
    assert code != 0
    assert f"line 2 of {str(log)!r}" in problem["error"]["message"]


@contextmanager
def second_coordinator(run: FleetCommand, url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another coordinator of the same Redis and the same store, as on a second machine."""
    command = [sys.executable, "-m", "producer.coordinator", "--runs-dir"]
    log = (run.folder / "second.log").open("wb")
    with (
        log,
        subprocess.Popen(
            [*command, str(run.store.resolve() / "runs")],
            env={**os.environ, **FAST, "SKILLOPT_REDIS_URL": url},
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def test_any_coordinator_of_a_shared_store_completes_a_folder_that_restores_the_run(
    command, undisturbed: FleetCommand, redis_url: str
) -> None:
    run = command("run", "--redis", redis_url)
    run.start().wait_for("reflected")
    with second_coordinator(run, redis_url) as other:
        # The first one, again and again: the second takes over sooner or later.
        def second_leads() -> bool:
            for pid in run.pids("producer.coordinator", "--run "):
                os.kill(pid, signal.SIGSTOP)
            with redis.Redis.from_url(state_url(redis_url), decode_responses=True) as client:
                owner = client.hget(f"so:runlease:{run.run_dir().name}", "owner") or ""
            return f":{other.pid}:" in owner

        until(second_leads, "the takeover", 30)
        run.wait_for("gated")
        assert run.process is not None
        os.kill(run.process.pid, signal.SIGKILL)
        run.process.wait()
    until(lambda: not run.every_process(), "the end of every child", 30)
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
    code, done = skillopt("restore", str(run.run_dir()), "--redis", redis_url, cwd=run.folder)
    assert (code, done["what"]) == (0, "restored"), done
    assert run.run() == 0, run.err()
    assert run.decisions() == undisturbed.decisions()
