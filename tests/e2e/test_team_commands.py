"""The team's commands from another shell: over the API with a URL and a token, and over Redis."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fleet_command import FAST

from skillopt.config.packaged import configs_dir

pytestmark = pytest.mark.xdist_group("e2e-team-commands")

SKILLOPT = [sys.executable, "-m", "producer.cli"]
#: Another `sim` than the packaged one: workers and submitters must mean the same.
CATALOGUE = "backends: {sim: {kind: simulated, simulator: {competence: 0.95}}}\n"
QUEUES = ("SKILLOPT_URL", "SKILLOPT_TOKEN", "SKILLOPT_REDIS_URL", "SKILLOPT_BACKENDS")


@dataclass(frozen=True)
class Shell:
    """A folder with a spec, and variables that say where the queue is."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if name not in QUEUES}
        return subprocess.Popen(
            [*SKILLOPT, *arguments],
            cwd=self.folder,
            env={**kept, **FAST, **self.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        process = self.start(*arguments, "--json")
        out, err = process.communicate(timeout=100)
        assert process.returncode == code, out + err
        return json.loads(out)


@dataclass(frozen=True)
class Team:
    told: dict[str, Any]
    folder: Path

    def shell(self, name: str, **variables: str) -> Shell:
        """Give a shell of somebody who has a spec, and no catalogue beside it."""
        folder = self.folder / name
        shutil.copytree(
            configs_dir() / "example", folder, ignore=shutil.ignore_patterns("backends.yaml")
        )
        elsewhere = {"XDG_CONFIG_HOME": str(self.folder / "none")}
        return Shell(folder, {**elsewhere, **variables})

    def over_http(self, name: str) -> Shell:
        return self.shell(name, SKILLOPT_URL=self.told["url"], SKILLOPT_TOKEN=self.told["token"])

    def over_redis(self, name: str) -> Shell:
        """Over a bare Redis, whoever submits must mean the same backend as the workers."""
        catalogue = str(self.folder / "catalogue.yaml")
        return self.shell(name, SKILLOPT_REDIS_URL=self.told["redis"], SKILLOPT_BACKENDS=catalogue)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    (folder / "catalogue.yaml").write_text(CATALOGUE)
    shell = Shell(folder, {"XDG_CONFIG_HOME": str(folder / "none")})
    up = shell.start(
        *("up", "--store", "store", "--backends", "catalogue.yaml"),
        *("--port", "0", "--no-flower", "--json"),
    )
    try:
        lines: list[str] = []
        assert up.stdout is not None
        for line in up.stdout:  # one object, however long it takes to come up
            lines.append(line)
            if line == "}\n":
                break
        yield Team(json.loads("".join(lines)), folder)
    finally:
        up.send_signal(signal.SIGINT)
        _, err = up.communicate(timeout=60)
    assert up.returncode == 0, err


def test_a_run_submitted_over_the_api_or_redis_is_watched_to_its_end_and_brought_home(team: Team):
    alice, bob = team.over_http("alice"), team.over_redis("bob")
    submitted = alice("submit", "spec.yaml", "--label", "ticket=H-17", "--priority", "high")
    run = submitted["run"]
    watched = alice("watch", run)
    assert watched["row"]["phase"] == "finished"
    assert (watched["row"]["priority"], watched["row"]["labels"]) == ("high", {"ticket": "H-17"})
    assert watched["curve"][-1]["best"] > watched["curve"][0]["val"]
    exported = alice("export", "last", "home")
    assert exported["run"] == run
    [listed] = alice("runs", "--label", "ticket=H-17")["runs"]
    assert listed == alice("status", run)["row"]

    second = bob("submit", "spec.yaml", "--set", "name=again", "--set", "owner=bob")["run"]
    assert bob("watch", second)["row"]["phase"] == "finished"
    bob("export", second, "home")
    best = [(one.folder / "home" / "best_skill.md").read_bytes() for one in (alice, bob)]
    assert best[0] == best[1]
    summary = json.loads((bob.folder / "home" / "summary.json").read_text())
    assert summary["calls"]["total"] == 0, "the same documents were measured before"
    spent = {
        one["key"]: one["calls"] for one in bob("spend", "--by", "run", "--since", "1d")["spend"]
    }
    assert spent == {run: watched["row"]["spent"]["calls"]}


def test_a_run_that_its_budget_paused_is_retuned_and_resumed_from_another_shell(team: Team):
    alice = team.over_http("steering")
    few = ("--set", "cache=off", "--set", "budget.max_calls=5")
    run = alice("submit", "spec.yaml", "--set", "name=steered", *few)["run"]
    assert alice("watch", run, code=3)["row"]["phase"] == "paused"
    assert alice("pause", run)["outcome"] == "unchanged"
    assert "max_calls" in alice("resume", run, code=2)["error"]["message"]
    changes = ("budget.max_calls=900", "window=2", "priority=low")
    settings = [part for one in changes for part in ("--set", one)]
    assert alice("retune", run, *settings)["outcome"] == "done"

    watching = alice.start("watch", run, "--stay")
    try:
        assert watching.stderr is not None
        # Whatever happened before is told first.
        seen = iter(watching.stderr.readline, "")
        assert any("retuned: " in line and "window 2" in line for line in seen)
        watching.send_signal(signal.SIGINT)
    finally:
        out, err = ended(watching)
    assert (watching.returncode, out) == (130, "")
    assert f"the run goes on: `skillopt watch {run}`" in err
    assert "Traceback" not in err

    assert alice("resume", run)["outcome"] == "done"
    finished = alice("watch", run)
    assert finished["row"]["phase"] == "finished"
    assert (finished["row"]["priority"], finished["window"]) == ("low", 2)

    other = alice("submit", "spec.yaml", "--set", "name=other", *few)["run"]
    assert alice("cancel", other)["outcome"] == "done"
    assert alice("status", "other")["row"]["phase"] == "cancelled"
    assert alice("resume", other, code=2)["error"]["code"] == "conflict"


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for a command that was asked to end, and give the rest of what it said."""
    try:
        return process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def test_quotas_and_limits_are_in_force_at_once(team: Team):
    admin = team.over_http("admin")
    owner = getpass.getuser()  # the first token is that of whoever gave the command
    assert admin("quota", "set", owner, "--max-runs", "0")["max_runs"] == 0
    refused = admin("submit", "spec.yaml", "--set", "name=refused", code=2)["error"]
    assert f"owner {owner!r} has 0 open run(s) and may have 0" in refused["message"]
    assert admin("quota", "set", owner, "--max-runs", "none")["max_runs"] is None
    limited = admin("backends", "set", "sim", "rpm=3000", "concurrency=4")
    assert (limited["limits"]["rpm"], limited["set_limits"]["concurrency"]) == (3000, 4)
    assert admin("backends", "set", "sim", "rpm=none", "concurrency=none")["set_limits"] == {}
    wrong = admin("backends", "set", "other", "rpm=3", code=2)["error"]["message"]
    assert "'other'" in wrong
