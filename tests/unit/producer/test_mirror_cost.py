"""What following a long run costs: the log is read and folded once, however long it grows."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_runs import MODES, run_of
from scripted_run import ScriptedRun, make_plan

from producer.artifacts import write_records
from producer.mirror import FolderMirror
from producer.run_folder import RunFolder

STEPS = 40


class CountedFolder(RunFolder):
    reads = 0
    derived = 0

    def read_entries(self):
        self.reads += 1
        return super().read_entries()

    def derive(self, state):
        self.derived += 1
        super().derive(state)


def followed(run: ScriptedRun, path: Path) -> CountedFolder:
    """Let a mirror follow a run event by event, as a coordinator does."""
    folder = CountedFolder(path)
    folder.create(run.plan, {})
    mirror, known = FolderMirror(folder, run.store.state()), 0
    while True:
        if len(run.events) > known:
            mirror.follow(run.log()[known:], run.state, run)
            known = len(run.events)
        if not run.advance():
            return folder


def files_of(folder: RunFolder) -> dict[str, bytes]:
    return {
        path.relative_to(folder.path).as_posix(): path.read_bytes()
        for path in folder.path.rglob("*")
        if path.is_file()
    }


def test_a_long_run_is_never_read_back_and_derived_only_for_candidates(tmp_path):
    plan = make_plan(settings={"train": {"num_epochs": STEPS // 2, "batch_size": 4}})
    run = ScriptedRun(plan)
    folder = followed(run, tmp_path / "run")
    assert len(run.state.steps) == STEPS
    assert folder.reads == 0
    about = [event for event in run.events if event.type in {"proposed", "skipped", "gated"}]
    assert folder.derived <= len(about) + 1 < len(run.events)


@pytest.mark.parametrize("mode", MODES)
def test_following_event_by_event_writes_what_a_successor_would_write_at_once(mode, tmp_path):
    run = run_of(mode)
    folder = followed(run, tmp_path / "run")
    later = RunFolder(tmp_path / "later")
    later.create(run.plan, {})
    FolderMirror(later, run.store.state()).follow(run.log(), run.state, run)
    assert files_of(later) == files_of(folder)


def test_records_that_were_lost_meanwhile_are_written_again(tmp_path):
    run = ScriptedRun()
    folder = CountedFolder(tmp_path / "run")
    folder.create(run.plan, {})
    mirror, known = FolderMirror(folder, run.store.state()), 0
    while len(run.state.steps) < 3:
        run.advance()
        mirror.follow(run.log()[known:], run.state, run)
        known = len(run.events)
    lost = folder.path / "rollouts" / "step-0001-1-rollout.jsonl.zst"
    content = lost.read_bytes()
    lost.unlink()
    mirror.follow([], run.state, run)
    assert lost.read_bytes() == content
    assert folder.reads == 1


def test_a_mirror_that_missed_entries_reads_them_from_the_folder(tmp_path):
    run = ScriptedRun().finish()
    folder = CountedFolder(tmp_path / "run")
    folder.create(run.plan, {})
    folder.mirror(run.log()[:5])
    FolderMirror(folder, run.store.state()).follow(run.log()[5:], run.state, run)
    assert folder.reads == 1
    assert write_records(folder, run.store.state(), run.state, run) == []
