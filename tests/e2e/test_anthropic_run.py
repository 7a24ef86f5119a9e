"""A whole run whose target is asked through the Messages API, tools and all."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from fleet_command import skillopt

from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running

pytestmark = pytest.mark.xdist_group("e2e-commands")

KEY = "planted-key-0123456789"
CHECKS = [{"op": "contains", "arg": "Owner:"}, {"op": "tool_called", "arg": "lookup"}]


def write_spec(folder: Path, url: str) -> None:
    for name, numbers in (("benchmark", range(9)), ("held-out", range(9, 12))):
        rows = [
            {
                "task_id": f"{name}-{number}",
                "task": f"Summarise meeting number {number} of the harbour board.",
                "tools": [{"name": "lookup", "result": "Berth 7 is free."}],
                "judge": {"kind": "rule", "checks": CHECKS},
            }
            for number in numbers
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "SKILL.md").write_text("# Minutes\n\nSummarise the meeting.\n")
    (folder / "spec.yaml").write_text(
        f"""
name: minutes
skill: SKILL.md
tasks: .
model: {{target: claude, optimizer: chat}}
train: {{num_epochs: 1, batch_size: 6}}
optimizer: {{use_slow_update: false, use_meta_skill: false}}
backends:
  claude:
    {{kind: anthropic_messages, model: sim, base_url: '{url}', api_key_env: SIM_KEY, price: 0}}
  chat:
    {{kind: openai_compatible, model: sim, base_url: '{url}/v1', api_key_env: SIM_KEY, price: 0}}
"""
    )


def test_a_target_behind_the_messages_api_is_trained(tmp_path: Path) -> None:
    with running(SimulatorOptions(api_key=KEY)) as server:
        write_spec(tmp_path, server.root_url)
        code, summary = skillopt("run", "spec.yaml", cwd=tmp_path, SIM_KEY=KEY)
        assert code == 0, summary
        with urllib.request.urlopen(f"{server.root_url}/stats", timeout=10) as answer:
            stats = json.load(answer)
        code, again = skillopt("run", "spec.yaml", cwd=tmp_path, SIM_KEY=KEY)
    assert summary["initial"]["test"]["hard"] == 0.0
    assert summary["best"]["test"]["hard"] == 1.0
    assert summary["calls"]["target"] == stats["calls"]["target"]
    assert summary["tokens"] == {
        "input": stats["tokens"]["prompt"],
        "output": stats["tokens"]["completion"],
        "estimated": 0,
    }
    assert code == 0
    assert again["new_calls"] == 0
    stored = b"".join(p.read_bytes() for p in (tmp_path / ".skillopt").rglob("*") if p.is_file())
    assert KEY.encode() not in stored
