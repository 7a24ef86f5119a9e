"""A whole run on Azure's paths: a target with two endpoints, one of which is out of order."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from fleet_command import skillopt

from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import Address, running

pytestmark = pytest.mark.xdist_group("e2e-commands")

KEY_A, KEY_B = "planted-key-of-a-0123456789", "planted-key-of-b-0123456789"
CHECKS = [{"op": "contains", "arg": "Owner:"}, {"op": "tool_called", "arg": "lookup"}]


def write_spec(folder: Path, a: Address, b: Address) -> None:
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
model: {{target: target, optimizer: optimizer}}
train: {{num_epochs: 1, batch_size: 6}}
optimizer: {{use_slow_update: false, use_meta_skill: false}}
backends:
  target:
    kind: azure_responses
    deployment: sim
    auth: api_key
    price: 0
    endpoints:
      - {{url: '{a.root_url}', api_key_env: KEY_A}}
      - {{url: '{b.root_url}', api_key_env: KEY_B}}
  optimizer:
    kind: azure_chat
    deployment: sim
    auth: api_key
    price: 0
    endpoints: [{{url: '{a.root_url}', api_key_env: KEY_A}}]
"""
    )


def stats_of(server: Address) -> dict[str, Any]:
    with urllib.request.urlopen(f"{server.root_url}/stats", timeout=10) as answer:
        stats: dict[str, Any] = json.load(answer)
    return stats


def test_a_run_goes_on_at_the_endpoint_that_works(tmp_path: Path) -> None:
    keys = {"KEY_A": KEY_A, "KEY_B": KEY_B}
    broken = SimulatorOptions(api_key=KEY_B, error_rate=1.0)
    with running(SimulatorOptions(api_key=KEY_A)) as a, running(broken) as b:
        write_spec(tmp_path, a, b)
        code, summary = skillopt("run", "spec.yaml", cwd=tmp_path, **keys)
        stats, refused = stats_of(a), stats_of(b)
    assert code == 0, summary
    assert summary["initial"]["test"]["hard"] == 0.0
    assert summary["best"]["test"]["hard"] == 1.0
    assert set(stats["by_status"]) == {"200"}
    assert set(refused["by_status"]) <= {"500"}
    asked = stats["calls"]["target"] + refused["calls"]["target"]
    assert summary["calls"]["target"] == asked, "each request is accounted for, failed ones too"
    assert summary["tokens"] == {
        "input": stats["tokens"]["prompt"],
        "output": stats["tokens"]["completion"],
        "estimated": 0,
    }
    stored = b"".join(p.read_bytes() for p in (tmp_path / ".skillopt").rglob("*") if p.is_file())
    assert KEY_A.encode() not in stored
    assert KEY_B.encode() not in stored
