"""A run whose roles and stages change parameters of one backend: what each request carries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_command import FAST, skillopt
from recording_simulator import Exchange, RecordingSimulator, recording
from strict_schema import faults

import producer

pytestmark = pytest.mark.xdist_group("e2e-commands")

ROLES = {
    "target": {"use": "chat", "params": {"temperature": 0.3, "max_output_tokens": 700}},
    "optimizer": {
        "use": "chat",
        "params": {"temperature": 0.2, "extra_headers": {"X-Purpose": "learn"}},
        "stages": {
            "reflect": {"reasoning_effort": "high"},
            "merge": {"temperature": 0, "max_output_tokens": None},
        },
    },
}
#: By words that only their prompts have.
STAGES = {
    "attempt": "You carry out the task",
    "reflect_failure": "You are shown attempts that failed",
    "reflect_success": "You are shown attempts that succeeded",
    "merge": "You merge what several analysts proposed",
    "rank": "You choose which of the proposed changes",
}


def write_spec(folder: Path, url: str) -> None:
    checks = [{"op": "contains", "arg": "Owner:"}, {"op": "contains", "arg": "Deadline:"}]
    for name, numbers in (("benchmark", range(9)), ("held-out", range(9, 12))):
        rows = [
            {
                "task_id": f"{name}-{number}",
                "task": f"Summarise meeting number {number} of the harbour board.",
                "judge": {"kind": "rule", "checks": checks[: 1 + number % 2]},
            }
            for number in numbers
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "SKILL.md").write_text("# Minutes\n\nSummarise the meeting.\n")
    backend = {
        "kind": "openai_compatible",
        "base_url": url,
        "model": "sim",
        "price": 0,
        "structured_output": "json_schema",
        "params": {"temperature": 0.7, "max_output_tokens": 2000},
    }
    spec = {
        "name": "roles",
        "skill": "SKILL.md",
        "tasks": ".",
        "model": ROLES,
        "train": {"num_epochs": 1, "batch_size": 6},
        "gradient": {"minibatch_size": 2},
        "optimizer": {"learning_rate": 1, "min_learning_rate": 1},
        "backends": {"chat": backend},
    }
    (folder / "spec.yaml").write_text(json.dumps(spec))  # JSON is YAML as well


@pytest.fixture
def simulator() -> Iterator[RecordingSimulator]:
    with recording() as one:
        yield one


def stage_of(exchange: Exchange) -> str:
    [stage] = [stage for stage, words in STAGES.items() if words in exchange.system]
    return stage


def carried(exchanges: list[Exchange]) -> dict[str, set[tuple[Any, ...]]]:
    """Give temperature, limit, effort and header of the requests, by stage."""
    found: dict[str, set[tuple[Any, ...]]] = {}
    for one in exchanges:
        limit = one.body.get("max_completion_tokens", one.body.get("max_tokens"))
        sent = (one.body.get("temperature"), limit, one.body.get("reasoning_effort"))
        found.setdefault(stage_of(one), set()).add((*sent, one.headers.get("x-purpose")))
    return found


def test_parameters_reach_the_requests_of_their_role_and_stage_and_no_others(
    tmp_path: Path, simulator: RecordingSimulator
) -> None:
    write_spec(tmp_path, simulator.base_url)
    code, summary = skillopt("run", "spec.yaml", cwd=tmp_path)
    assert code == 0, summary
    assert carried(simulator.exchanges) == {
        "attempt": {(0.3, 700, None, None)},
        "reflect_failure": {(0.2, 2000, "high", "learn")},
        "merge": {(0, None, None, "learn")},
        "rank": {(0.2, 2000, None, "learn")},
    }
    _schemas_are_those_of_the_stages(simulator.exchanges)
    _a_call_is_shown_with_its_parameters(tmp_path, summary["run"])
    before = len(simulator.exchanges)
    code, again = skillopt("run", "spec.yaml", cwd=tmp_path)
    assert (code, again["run"], len(simulator.exchanges)) == (0, summary["run"], before)
    _another_parameter_is_another_run(tmp_path, summary["run"])
    changed = simulator.exchanges[before:]
    assert {stage_of(one) for one in changed} == {"merge"}, "all else is as it was, and cached"
    assert {one.body["temperature"] for one in changed} == {0.1}


def _schemas_are_those_of_the_stages(exchanges: list[Exchange]) -> None:
    names = set()
    for one in exchanges:
        asked = one.body.get("response_format")
        assert (asked is None) == (stage_of(one) == "attempt")
        if asked is not None:
            described = asked["json_schema"]
            names.add(described["name"])
            assert list(faults(json.loads(one.reply), described["schema"])) == []
    assert names == {"reflect_failure-patch", "merge-patch", "rank"}


def _a_call_is_shown_with_its_parameters(folder: Path, run: str) -> None:
    code, step = skillopt("show", run, "--step", "1", cwd=folder)
    assert code == 0
    merge = next(call["job"] for call in step["calls"] if call["call"] == "merge")
    code, shown = skillopt("show", run, "--call", merge, cwd=folder)
    assert code == 0
    call = shown["call"]
    assert (call["backend"], call["reply_schema"]) == ("chat", "merge-patch")
    assert call["params"] == {"temperature": 0.0, "extra_headers": {"X-Purpose": "learn"}}
    printed = _printed("show", run, "--call", merge, cwd=folder)
    assert 'backend: chat, temperature 0.0, extra_headers {"X-Purpose": "learn"}' in printed
    assert "reply form: merge-patch" in printed


def _another_parameter_is_another_run(folder: Path, run: str) -> None:
    override = "model.optimizer.stages.merge.temperature=0.1"
    printed = _printed("run", "spec.yaml", "--set", override, cwd=folder)
    assert "model.optimizer.stages.merge.temperature: 0.0 -> 0.1" in printed


def _printed(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "producer.cli", *arguments],
        cwd=cwd,
        env={**os.environ, **FAST, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_program_gives_roles_with_their_parameters(
    tmp_path: Path, simulator: RecordingSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in FAST.items():
        monkeypatch.setenv(name, value)
    records = [
        {"id": f"t-{n}", "task": f"Summarise meeting {n}.", "judge": {"kind": "exact", "answer": w}}
        for n, w in enumerate(["yes", "no", "maybe", "never"])
    ]
    backend = {"kind": "openai_compatible", "base_url": simulator.base_url, "model": "sim"}
    producer.optimize(
        skill="# Minutes\n\nSummarise the meeting.\n",
        train=records[:2],
        val=records[2:],
        model={"target": {"use": "chat", "params": {"seed": 5}}, "optimizer": "chat"},
        backends={"chat": backend},
        settings={"train": {"num_epochs": 1}},
        store=tmp_path / ".skillopt",
    )
    seeds = {
        (stage_of(one) == "attempt", one.body.get("seed") is not None)
        for one in simulator.exchanges
    }
    assert (True, True) in seeds
    assert seeds <= {(True, True), (False, False)}
