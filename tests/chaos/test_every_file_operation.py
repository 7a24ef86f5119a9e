"""The machine stops between any two file operations: the run's folder is whole in the end."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from failing_disk import failing_disk
from interrupted_runs import RICH, SMALL, Moment, Outcome, Site, files_hash
from scripted_run import make_plan

from skillopt.domain.plan import RunPlan
from skillopt.domain.skill_folder import SkillFile

SAMPLE = 5
SCRIPT = SkillFile(
    path="scripts/greet.sh", base64=base64.b64encode(b"echo hi\n").decode(), executable=True
)


def plan_of(name: str) -> RunPlan:
    if name == "small":
        return make_plan(settings=dict(SMALL))
    return make_plan(settings=dict(RICH), memory="Nothing yet.\n", files=(SCRIPT,))


@cache
def expected(name: str) -> tuple[Outcome, str, int]:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        disk = failing_disk(patch, None)
        site = Site(Path(folder), plan_of(name))
        site.command()
        operations = len(disk.calls)
        return site.outcome(), everything(site.folder.path), operations


def everything(folder: Path) -> str:
    """Hash the documents' other files too, and see that nothing half written is left."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
    assert not [name for name in names if name.endswith((".tmp", ".draft"))]
    others = [*sorted(folder.glob("memories/*")), *sorted(folder.glob("best_*/**/*"))]
    texts = {one.name: one.read_text() for one in others if one.is_file()}
    return f"{files_hash(folder)} {texts}"


def assert_stopped_and_continued(
    tmp_path: Path, name: str, at: int, moment: Moment, survived: float
) -> None:
    whole, content, _ = expected(name)
    site = Site(tmp_path / f"{at}-{moment}-{survived}", plan_of(name))
    with pytest.MonkeyPatch.context() as patch:
        disk = failing_disk(patch, at, moment, survived)
        site.command()
    where = f"stopped at operation {at} ({disk.calls[-1]}, {moment})"
    assert disk.dead, where
    with pytest.MonkeyPatch.context() as patch:
        failing_disk(patch, None)  # does not stop, and does not wait for the real disk either
        assert site.continue_by(site.command) == whole, where
    assert everything(site.folder.path) == content, where
    executed = site.fleet.executed
    assert len(executed) == len(set(executed)), f"{where}: something finished was done again"


@pytest.mark.parametrize("name", ["small", "rich"])
@pytest.mark.parametrize("moment", ["before", "lost"])
def test_a_machine_that_stops_at_a_file_operation_leaves_a_folder_to_go_on_with(
    tmp_path, name, moment
):
    operations = expected(name)[2]
    first = 1 if name == "small" else 3
    for at in range(first, operations + 1, SAMPLE if name == "small" else 3 * SAMPLE):
        assert_stopped_and_continued(tmp_path, name, at, moment, survived=0.5)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["small", "rich"])
@pytest.mark.parametrize("survived", [0.0, 0.7, 1.0])
def test_a_machine_that_stops_at_any_file_operation_leaves_a_folder_to_go_on_with(
    tmp_path, name, survived
):
    for at in range(1, expected(name)[2] + 1):
        assert_stopped_and_continued(tmp_path, name, at, "before", survived)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["small", "rich"])
def test_a_machine_that_stops_after_any_file_operation_leaves_a_folder_to_go_on_with(
    tmp_path, name
):
    for at in range(1, expected(name)[2] + 1):
        assert_stopped_and_continued(tmp_path, name, at, "lost", survived=1.0)
