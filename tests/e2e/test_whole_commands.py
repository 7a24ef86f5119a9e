"""Whole commands as a user gives them, beyond killing things."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fleet_command import FAST, FleetCommand, skillopt, until

from producer.run_folder import RunFolder
from producer.view.words import event_words
from skillopt.domain.events import decode_event
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running

pytestmark = pytest.mark.xdist_group("e2e-commands")


def benchmark(folder: Path) -> Path:
    """Write a benchmark folder: what is held out is checked in other words than in training."""
    seen = [{"op": "contains", "arg": "## Open Points"}, {"op": "contains", "arg": "Owner:"}]
    held = [
        {"op": "section_present", "arg": "Open Points"},
        {"op": "regex", "arg": r"[Oo]wner\s*:"},
    ]
    folder.mkdir()
    for name, count, checks in (("benchmark", 12, seen), ("held-out", 5, held)):
        rows = [
            {
                "task_id": f"{name}-{number}",
                "task": f"Summarise meeting number {number} of the harbour board.",
                "judge": {"kind": "rule", "checks": checks},
            }
            for number in range(count)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "SKILL.md").write_text("# Minutes\n\nSummarise the meeting.\n")
    return folder


def test_demo_learns_and_given_again_makes_no_call(tmp_path: Path) -> None:
    code, first = skillopt("demo", cwd=tmp_path)
    assert code == 0
    assert first["best"]["test"]["hard"] > first["initial"]["test"]["hard"] + 0.5
    assert first["calls"]["total"] == first["new_calls"] > 0
    code, second = skillopt("demo", cwd=tmp_path)
    assert code == 0
    assert second["new_calls"] == 0
    assert second["best"] == first["best"]
    entries = RunFolder(Path(first["run_dir"])).read_entries()
    told = [event_words(decode_event(entry.event)) for entry in entries]
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    quoted = [line for line in readme.splitlines() if line.startswith(("step ", "slow update "))]
    assert len(quoted) >= 4
    assert [line for line in quoted if line not in told] == [], "the README shows another demo"


def test_a_benchmark_folder_is_learnt_through_the_failing_checks(tmp_path: Path) -> None:
    data = benchmark(tmp_path / "data")
    (tmp_path / "spec.yaml").write_text(
        f"name: minutes\nskill: {data}/SKILL.md\ntasks: {data}\n"
        "model: {target: sim, optimizer: sim}\nlabels: {ticket: H-17}\n"
    )
    code, summary = skillopt("run", "spec.yaml", cwd=tmp_path, SIM_URL="")
    assert code == 0
    initial = summary["initial"]["test"]
    assert (initial["hard"], initial["soft"]) == (0.0, 0.0)
    assert (initial["n"], initial["coverage"]) == (5, 1.0)
    assert summary["best"]["test"]["hard"] == 1.0
    # The same document on the same tasks costs nothing, by whatever command.
    assert "H-17" in (Path(summary["run_dir"]) / "spec.yaml").read_text()
    best = Path(summary["run_dir"]) / "best_skill.md"
    code, again = skillopt(
        "eval", "spec.yaml", "--skill", str(best), "--split", "test", cwd=tmp_path, SIM_URL=""
    )
    assert code == 0
    assert again["calls"]["total"] == 0
    assert again["cache_hits"] > 0
    assert again["evaluated"]["score"]["hard"] == 1.0


def test_a_budget_stops_the_run_and_a_larger_one_continues_it(
    command, undisturbed: FleetCommand
) -> None:
    run = command("budget", "--set", "budget.max_calls=40", latency_s=0)
    assert run.run() == 3
    assert run.summary()["calls"]["total"] == 40
    assert run.summary()["best"]["test"] is None, "what was not measured is null"
    assert run.run() == 3
    assert run.summary()["new_calls"] == 0
    run.arguments = ("--set", "budget.max_calls=1000")
    assert run.run() == 0
    assert run.decisions() == undisturbed.decisions()
    assert run.summary()["calls"] == undisturbed.summary()["calls"]


def test_a_refused_key_pauses_the_run_and_a_good_one_continues_it(tmp_path: Path) -> None:
    data = benchmark(tmp_path / "data")
    with running(SimulatorOptions(api_key="right-key-1234567890")) as server:
        (tmp_path / "spec.yaml").write_text(
            f"name: keyed\nskill: {data}/SKILL.md\ntasks: {data}\n"
            "model: {target: guarded, optimizer: guarded}\n"
            f"backends: {{guarded: {{kind: openai_compatible, base_url: '{server.base_url}', "
            "model: sim, api_key_env: GUARDED_KEY, price: 0}}\n"
        )
        code, missing = skillopt("run", "spec.yaml", cwd=tmp_path)
        assert code == 2
        assert "GUARDED_KEY" in missing["error"]["message"]
        code, paused = skillopt(
            "run", "spec.yaml", cwd=tmp_path, GUARDED_KEY="wrong-key-1234567890"
        )
        assert code == 4
        assert paused["state"] == "paused"
        assert "'guarded'" in paused["reason"]
        assert "wrong-key" not in json.dumps(paused)
        code, done = skillopt("run", "spec.yaml", cwd=tmp_path, GUARDED_KEY="right-key-1234567890")
        assert code == 0
        assert done["best"]["test"]["hard"] == 1.0
    stored = b"".join(p.read_bytes() for p in (tmp_path / ".skillopt").rglob("*") if p.is_file())
    assert b"right-key" not in stored
    assert b"wrong-key" not in stored


@pytest.mark.slow
def test_two_coordinators_on_a_shared_redis_give_the_same_run(
    command, undisturbed: FleetCommand, redis_url: str
) -> None:
    run = command("shared", "--redis", redis_url)
    second = None
    try:
        run.start()
        run.wait_for("run_created")
        second = subprocess.Popen(
            [sys.executable, "-m", "producer.coordinator", "--runs-dir", str(run.store / "runs")],
            env={**os.environ, **FAST, "SKILLOPT_REDIS_URL": redis_url},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for step in (2, 4):
            run.wait_for("step_started", step)
            run.kill("producer.coordinator", "--run ")
        assert run.wait() == 0, run.err()
    finally:
        if second is not None:
            second.terminate()
            second.wait(timeout=20)
    assert run.decisions() == undisturbed.decisions()
    assert run.events().count("finished") == 1


def test_a_shared_redis_that_is_away_is_said_in_words(command, tmp_path: Path) -> None:
    run = command("away", "--redis", f"unix://{tmp_path}/no.sock")
    assert run.run() == 4
    message = json.loads((run.folder / "out").read_text())["error"]["message"]
    assert "no.sock" in message or "reached" in message
    assert until(lambda: not run.every_process(), "nothing left")


def test_modules_in_the_working_directory_do_not_replace_ours(tmp_path: Path) -> None:
    data = benchmark(tmp_path / "data")
    (tmp_path / "spec.yaml").write_text(
        f"name: safe\nskill: {data}/SKILL.md\ntasks: {data}\nmodel: {{target: sim}}\n"
    )
    for name in ("redis.py", "celery.py", "workers.py", "producer.py"):
        (tmp_path / name).write_text("raise SystemExit('a foreign module was imported')\n")
    done = subprocess.run(
        [Path(sys.executable).with_name("skillopt"), "run", "spec.yaml", "--json"],
        cwd=tmp_path,
        env={**os.environ, **FAST, "SIM_URL": ""},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_damaged_summary_is_made_anew_without_a_call(command) -> None:
    run = command("damaged", latency_s=0)
    assert run.run() == 0
    before = (run.run_dir() / "summary.json").read_bytes()
    (run.run_dir() / "summary.json").write_text("{")
    assert run.run() == 0, run.err()
    assert run.summary()["new_calls"] == 0
    assert (run.run_dir() / "summary.json").read_bytes() == before
