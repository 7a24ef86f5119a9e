"""`skillopt gc` with a real store: a finished run leaves Redis, its folder still tells all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_command import FleetCommand
from fleet_command import skillopt as command_to_its_end

pytestmark = pytest.mark.xdist_group("e2e")


@pytest.fixture
def tmpdir_of_its_own() -> Iterator[str]:
    """What others left on this machine is none of a test's business; sockets need short paths."""
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        yield folder


def test_a_finished_run_leaves_redis_and_the_same_command_still_shows_it(
    undisturbed: FleetCommand, tmp_path: Path, tmpdir_of_its_own: str
) -> None:
    run = FleetCommand(tmp_path / "run")
    shutil.copytree(undisturbed.folder, run.folder)
    store = ("--store", str(run.store))
    name = run.run_dir().name

    def skillopt(*arguments: str) -> tuple[int, dict[str, Any]]:
        return command_to_its_end(*arguments, cwd=tmp_path, TMPDIR=tmpdir_of_its_own)

    code, nothing = skillopt("gc", "--older-than", "30d", *store, "--yes")
    assert (code, nothing["meant"]["runs"], nothing["removed"]) == (0, [], [])
    code, refused = skillopt("gc", "--older-than", "0h", *store)
    assert code == 2
    assert "give --yes" in refused["error"]["message"]
    code, said = skillopt("gc", "--older-than", "0h", *store, "--dry-run")
    assert [one["run"] for one in said["meant"]["runs"]] == [name]
    assert said["removed"] == []

    code, done = skillopt("gc", "--older-than", "0h", *store, "--yes")
    assert (code, done["kept"]) == (0, []), done
    [gone] = [one for one in done["removed"] if one["where"] == "redis"]
    assert gone["run"] == name
    assert gone["bytes"] > 1000
    code, again = skillopt("gc", "--older-than", "0h", *store, "--yes")
    assert (code, again["meant"]["runs"]) == (0, [])

    code, restored = skillopt("restore", str(run.run_dir()))
    assert (code, restored["what"], restored["status"]) == (0, "restored", "finished")
    code, done = skillopt("gc", "--older-than", "0h", "--folders", *store, "--yes")
    assert (code, done["kept"]) == (0, [])
    assert {one["where"] for one in done["removed"]} == {"redis", "folder"}
    assert not (run.store / "runs" / name).exists()
