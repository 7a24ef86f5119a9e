"""Retention removes what is finished, old and whole in its folder, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from interrupted_runs import SMALL, Interruption, Site
from scripted_run import make_plan

from producer.folder.ledger import NAME
from producer.restoring import restore
from producer.retention import (
    KeptFor,
    RemovableRun,
    removable,
    removable_folders,
    remove_folder,
    remove_run,
)
from producer.run_folder import RunFolder
from skillopt.domain.timing import DAY_S

AGE_S = 30 * DAY_S


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda handle: None)


def finished(tmp_path: Path) -> Site:
    """A run that ended a day longer ago than it is kept, and that nobody leads."""
    site = Site(tmp_path, make_plan(settings=dict(SMALL), owner="alice"))
    site.command()
    assert site.is_finished()
    site.clock.now += AGE_S + DAY_S
    return site


def remove(site: Site) -> RemovableRun | KeptFor:
    [meant] = removable(site.state, AGE_S)
    return remove_run(site.state, site.runs_dir, meant)


def test_an_old_finished_run_leaves_redis_and_its_folder_puts_it_back(tmp_path):
    site = finished(tmp_path)
    events, owner = site.events(), site.state.budgets.shared()
    assert owner[0].spend.calls["target"] > 0
    gone = remove(site)
    assert isinstance(gone, RemovableRun)
    assert gone.entries > 0
    assert site.state.runs.all() == []
    assert site.state.budgets.shared() == owner, "what alice spent stays counted"
    assert removable(site.state, AGE_S) == []
    assert RunFolder(site.folder.path).state().finished
    assert restore(site.state, RunFolder(site.folder.path)).status == "finished"
    assert site.events() == events
    assert site.state.budgets.shared() == owner, "and is not counted twice"


def test_a_run_that_ended_lately_stays(tmp_path):
    site = finished(tmp_path)
    assert removable(site.state, AGE_S + 2 * DAY_S) == []


def test_an_unfinished_run_stays_whatever_its_age(tmp_path):
    site = Site(tmp_path, make_plan(settings=dict(SMALL)))
    site.command(Interruption(60, "lost"))
    assert not site.is_finished()
    site.clock.now += 100 * AGE_S
    assert removable(site.state, AGE_S) == []
    assert list(removable_folders(site.runs_dir, site.clock.now)) == []


@pytest.mark.parametrize("name", ["events.jsonl", NAME, "best_skill.md"])
def test_a_folder_that_lacks_something_is_completed_first(tmp_path, name):
    site = finished(tmp_path)
    (site.folder.path / name).unlink()
    assert isinstance(remove(site), RemovableRun)
    assert (site.folder.path / name).exists()
    assert restore(site.state, RunFolder(site.folder.path)).status == "finished"


def test_a_run_without_its_folder_stays(tmp_path):
    site = finished(tmp_path)
    site.runs_dir = tmp_path / "elsewhere"
    kept = remove(site)
    assert isinstance(kept, KeptFor)
    assert "is not there" in kept.why
    assert site.is_finished()


def test_a_run_whose_folder_is_damaged_stays(tmp_path):
    site = finished(tmp_path)
    log = site.folder.path / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"seq":2', b'"seq":9', 1))
    kept = remove(site)
    assert isinstance(kept, KeptFor)
    assert "line 2" in kept.why
    assert site.is_finished()


def test_a_run_that_somebody_leads_stays(tmp_path):
    site = finished(tmp_path)
    assert site.state.runs.lead(site.run, "busy")
    kept = remove(site)
    assert isinstance(kept, KeptFor)
    assert "at work" in kept.why
    assert site.is_finished()


def test_a_folder_goes_only_after_its_run_has_left_redis(tmp_path):
    site = finished(tmp_path)
    [meant] = removable_folders(site.runs_dir, site.clock.now - AGE_S)
    assert (meant.run, meant.where) == (site.run, "folder")
    assert meant.bytes > 0
    assert isinstance(remove_folder(site.state, site.runs_dir, meant), KeptFor)
    assert site.folder.path.exists()
    remove(site)
    assert isinstance(remove_folder(site.state, site.runs_dir, meant), RemovableRun)
    assert not site.folder.path.exists()


def test_folders_that_ended_lately_and_links_stay(tmp_path):
    site = finished(tmp_path / "runs")
    assert list(removable_folders(site.runs_dir, site.clock.now - 2 * AGE_S)) == []
    other = tmp_path / "other"
    other.mkdir()
    (other / site.run).symlink_to(site.folder.path)
    assert list(removable_folders(other, site.clock.now)) == []
