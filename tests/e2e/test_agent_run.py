"""Whole commands whose target is an agent program, in real workers.

The programs are scripts; with SKILLOPT_TEST_AGENTS, the folder of the real ones, these are run
too, against the simulator.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_scripts import VERSION, AgentScript
from fleet_command import skillopt

from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running

pytestmark = pytest.mark.xdist_group("e2e-commands")

KEY = "planted-key-0123456789"
NAMES = ("claude", "codex", "copilot")
FOLDER = os.environ.get("SKILLOPT_TEST_AGENTS")


@pytest.fixture
def workspaces() -> Iterator[str]:
    """A folder for the programs of this test; the path of a socket in it must stay short."""
    folder = tempfile.mkdtemp(prefix="so-")
    yield folder
    left = [path for path in Path(folder).glob("*/*") if path.name != "cache"]
    shutil.rmtree(folder)
    assert left == [], "a workspace was left behind"


def write_tasks(folder: Path, checks: list[dict[str, Any]], **more: Any) -> None:
    for name, numbers in (("benchmark", range(9)), ("held-out", range(9, 12))):
        rows = [
            {
                "task_id": f"{name}-{number}",
                "task": f"Summarise meeting number {number} of the harbour board.",
                "judge": {"kind": "rule", "checks": checks},
                **more,
            }
            for number in numbers
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def write_spec(folder: Path, skill: str, *backends: str, roles: str) -> None:
    lines = ["name: minutes", f"skill: {skill}", "tasks: .", f"model: {roles}"]
    lines += ["train: {num_epochs: 1, batch_size: 6}"]
    lines += ["optimizer: {use_slow_update: false, use_meta_skill: false}", "backends:"]
    (folder / "spec.yaml").write_text("\n".join([*lines, *(f"  {one}" for one in backends)]))


def stored(folder: Path) -> bytes:
    return b"".join(p.read_bytes() for p in (folder / ".skillopt").rglob("*") if p.is_file())


def test_a_skill_is_trained_on_an_agent_and_its_steps_reach_the_analyst(
    tmp_path: Path, workspaces: str
) -> None:
    script = AgentScript(tmp_path / "bin", "claude")
    checks = [{"op": "contains", "arg": "Owner:"}, {"op": "tool_called", "arg": "lookup"}]
    write_tasks(tmp_path, checks, tools=[{"name": "lookup", "result": "Berth 7 is free."}])
    (tmp_path / "SKILL.md").write_text("# Minutes\n\nSummarise the meeting.\n")
    agent = f"agent: {{kind: claude_cli, executable: {script.path}, api_key_env: AGENT_KEY}}"
    roles = "{target: agent, optimizer: sim}"
    write_spec(tmp_path, "SKILL.md", agent, "sim: {kind: simulated}", roles=roles)
    given = {"AGENT_KEY": KEY, "TMPDIR": workspaces}
    code, summary = skillopt("run", "spec.yaml", cwd=tmp_path, **given)
    assert code == 0, summary
    assert summary["initial"]["test"]["hard"] == 0.0
    assert summary["best"]["test"]["hard"] == 1.0
    code, again = skillopt("run", "spec.yaml", cwd=tmp_path, **given)
    assert (code, again["new_calls"]) == (0, 0)
    kept = stored(tmp_path)
    assert KEY.encode() not in kept
    # Another version of the program is another backend: nothing of the old one is taken for it.
    AgentScript(tmp_path / "bin", "claude", version="9.9.0")
    code, newer = skillopt("run", "spec.yaml", cwd=tmp_path, **given)
    assert code == 0 and newer["new_calls"] > 0 and newer["run"] != summary["run"]


@pytest.mark.parametrize("name", NAMES)
def test_every_program_gets_the_files_of_the_skill_and_of_the_task(
    tmp_path: Path, workspaces: str, name: str
) -> None:
    script = AgentScript(tmp_path / "bin", name)
    skill = tmp_path / "minutes"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: minutes\ndescription: Writes minutes.\n---\n\nSummarise.\n"
    )
    (skill / "scripts" / "run.sh").write_text("#!/bin/sh\necho hello\n")
    (skill / "scripts" / "run.sh").chmod(0o755)
    tasks = tmp_path / "tasks"
    (tasks / "files").mkdir(parents=True)
    (tasks / "files" / "berths.csv").write_bytes(b"berth,free\n7,\xff\n")
    wanted = ["skill/scripts/run.sh can run", "\nfiles/berths.csv\n", "Summarise meeting number"]
    checks = [{"op": "contains", "arg": text} for text in wanted]
    write_tasks(tasks, checks, attachments=["files/berths.csv"])
    more = ", model: m, base_url: 'http://127.0.0.1:9'" if name == "copilot" else ""
    agent = f"agent: {{kind: {name}_cli, executable: {script.path}, api_key_env: AGENT_KEY{more}}}"
    write_spec(tmp_path, "minutes", agent, roles="{target: agent}")
    text = (tmp_path / "spec.yaml").read_text().replace("tasks: .", "tasks: tasks")
    (tmp_path / "spec.yaml").write_text(text)
    given = {"AGENT_KEY": KEY, "TMPDIR": workspaces}
    code, checked = skillopt("check", "spec.yaml", cwd=tmp_path, **given)
    assert code == 0, checked
    code, summary = skillopt("eval", "spec.yaml", cwd=tmp_path, **given)
    assert code == 0, summary
    assert (summary["best"] or summary["initial"])["test"]["hard"] == 1.0, summary
    assert summary["calls"]["target"] == 3
    assert VERSION in json.dumps(checked)


def test_tasks_whose_tools_a_sandbox_hides_are_refused_before_anything_starts(
    tmp_path: Path, workspaces: str
) -> None:
    script = AgentScript(tmp_path / "bin", "codex")
    write_tasks(tmp_path, [{"op": "tool_called", "arg": "lookup"}], tools=["lookup"])
    (tmp_path / "SKILL.md").write_text("# Minutes\n\nSummarise the meeting.\n")
    agent = f"agent: {{kind: codex_cli, executable: {script.path}, api_key_env: AGENT_KEY}}"
    write_spec(tmp_path, "SKILL.md", agent, roles="{target: agent}")
    code, refused = skillopt("eval", "spec.yaml", cwd=tmp_path, AGENT_KEY=KEY, TMPDIR=workspaces)
    assert code == 2
    assert "and 2 more cannot be done by backend 'agent'" in json.dumps(refused)
    assert "set network: true" in json.dumps(refused)


# --- the real programs ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_is_trained_on_the_real_program(tmp_path: Path, workspaces: str, name: str) -> None:
    executable = shutil.which(name, path=FOLDER) if FOLDER else None
    if executable is None:
        pytest.skip(f"{name} is not in the folder that SKILLOPT_TEST_AGENTS names")
    write_tasks(tmp_path, [{"op": "contains", "arg": "Owner:"}])
    (tmp_path / "SKILL.md").write_text("# Minutes\n\nSummarise the meeting.\n")
    with running(SimulatorOptions(api_key=KEY)) as server:
        where = f"base_url: '{server.root_url}', api_key_env: AGENT_KEY, price: 0"
        agent = f"agent: {{kind: {name}_cli, model: sim, executable: {executable}, {where}}}"
        sim = (
            f"sim: {{kind: openai_compatible, model: sim, base_url: '{server.base_url}', "
            "api_key_env: AGENT_KEY, price: 0}"
        )
        write_spec(tmp_path, "SKILL.md", agent, sim, roles="{target: agent, optimizer: sim}")
        given = {"AGENT_KEY": KEY, "TMPDIR": workspaces}
        code, summary = skillopt("run", "spec.yaml", cwd=tmp_path, **given)
    assert code == 0, summary
    assert summary["initial"]["test"]["hard"] == 0.0
    if name != "copilot":
        # Copilot's own instructions say when to refuse, and the simulator obeys every rule it sees.
        assert summary["best"]["test"]["hard"] == 1.0
    assert summary["calls"]["target"] > 0
    assert KEY.encode() not in stored(tmp_path)
