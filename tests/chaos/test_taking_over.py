"""A coordinator that takes a run over completes the folder in its store first, whatever was there:
any single folder puts the run back.
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from interrupted_runs import SMALL, Interruption, Outcome, Site, undisturbed
from scripted_run import make_plan

from producer.dead import exclude
from producer.folder.ledger import NAME, LedgerFile
from producer.known_runs import KnownRuns
from producer.restoring import restore
from producer.run_folder import RunFolder
from producer.taking_over import take_over
from skillopt.domain.steering_events import LeftOut
from skillopt.errors import StateCorrupt


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda handle: None)


@cache
def expected() -> tuple[Outcome, tuple[int, ...]]:
    """What comes out undisturbed, and the calls that write an event."""
    with TemporaryDirectory() as folder:
        outcome, calls = undisturbed(Path(folder))
    return outcome, tuple(at for at, call in enumerate(calls, start=1) if call == "runs.step")


def left(tmp_path: Path, at: int | None = None) -> Site:
    """A run whose coordinator died right after it wrote an event to the state."""
    steps = expected()[1]
    site = Site(tmp_path / "first")
    site.command(Interruption(steps[len(steps) // 2] if at is None else at, "lost"))
    site.clock.now += site.timing.lead_s
    return site


class KilledAtItsFirstEvent(Interruption):
    def through(self, name, call):
        if name == "runs.step":
            self.at = len(self.calls) + 1
        return super().through(name, call)


def move_to(site: Site, runs_dir: Path) -> None:
    """Have the next coordinator work in another store."""
    site.runs_dir = runs_dir
    site.folder = RunFolder(runs_dir / site.run)


def taken(site: Site) -> None:
    lead = site.state.runs.lead(site.run, "next")
    assert lead is not None
    take_over(lead, site.state, site.folder)
    site.state.runs.resign(lead)


def test_a_coordinator_with_another_store_lays_the_folder_out_and_that_alone_restores_the_run(
    tmp_path,
):
    outcome, steps = expected()
    for at in steps[::3]:
        site = left(tmp_path / str(at), at)
        before = set(site.state.runs.ledger(site.run))
        move_to(site, tmp_path / str(at) / "second")
        # It dies too, on its first decision: what it took over is in its folder by then.
        site.coordinator(KilledAtItsFirstEvent())
        shutil.rmtree(tmp_path / str(at) / "first")
        assert before <= set(LedgerFile(site.folder.path / NAME).read()), f"left at {at}"
        lost = Site(site.runs_dir)
        done = restore(lost.state, lost.folder)
        assert done.events == len(site.events())
        assert done.without_reply == 0
        assert lost.continue_by(lost.coordinator) == outcome, f"left at {at}"


def test_a_folder_that_is_behind_is_completed(tmp_path):
    site = left(tmp_path)
    log, ledger = site.folder.path / "events.jsonl", site.folder.path / NAME
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:2]))
    ledger.unlink()
    site.folder = RunFolder(site.folder.path)
    assert site.continue_by(site.coordinator) == expected()[0]
    assert set(LedgerFile(ledger).read()) == set(site.state.runs.ledger(site.run))


def test_the_end_of_a_log_that_redis_has_lost_comes_back_from_the_folder(tmp_path):
    """As after a crash of a Redis that does not sync every write."""
    whole = left(tmp_path)
    log = whole.folder.path / "events.jsonl"
    content = log.read_bytes()
    log.write_bytes(b"".join(content.splitlines(keepends=True)[:3]))
    site = Site(whole.runs_dir)
    restore(site.state, site.folder)
    assert len(site.events()) == 3
    log.write_bytes(content)
    site.folder = RunFolder(site.folder.path)
    taken(site)
    assert site.events() == whole.events()[: len(site.events())]
    assert len(site.events()) == site.folder.last_seq() > 3
    assert site.continue_by(site.coordinator) == expected()[0]


def test_another_history_in_the_folder_is_refused_and_nothing_is_written(tmp_path):
    site = left(tmp_path)
    other = Site(tmp_path / "other", make_plan(settings=dict(SMALL)))
    other.command()
    log = other.folder.path / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"type":"step_started"', b'"type":"paused"', 1))
    events = site.events()
    move_to(site, other.runs_dir)
    with pytest.raises(StateCorrupt):
        site.coordinator()
    assert site.events() == events


def test_what_a_person_asks_of_a_run_that_nobody_drives_is_in_its_folder_at_once(tmp_path):
    site = left(tmp_path)
    known = KnownRuns(site.state).find(site.run)
    done = exclude(site.state, known, ["val-beta"], site._wait, site.runs_dir)
    assert done.outcome == "here"
    lost = Site(site.runs_dir)
    restore(lost.state, lost.folder)
    assert lost.events() == site.events()
    assert any(isinstance(event, LeftOut) for event in lost.events())
