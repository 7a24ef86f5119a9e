"""Redis is lost whole, at any moment: the run's folder puts the run back, and nothing in it is
paid for twice.
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from interrupted_runs import RICH, SMALL, Interruption, Outcome, Site, undisturbed
from scripted_run import make_plan

from producer.folder.ledger import NAME, LedgerFile
from producer.mirror import complete_folder
from producer.restoring import Restored, restore, restore_if_lost, restored_words
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.plan import RunPlan
from skillopt.errors import InputError, SkillOptError, StateCorrupt
from skillopt.state.ports import Lead


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda handle: None)
    monkeypatch.setattr("producer.kept_results.GATHER_S", 0.0)


def plan_of(name: str) -> RunPlan:
    return make_plan(settings=dict(SMALL if name == "small" else RICH))


@cache
def expected(name: str) -> tuple[Outcome, tuple[str, ...]]:
    with TemporaryDirectory() as folder:
        outcome, calls = undisturbed(Path(folder), plan_of(name))
    return outcome, tuple(calls)


def interrupted(folder: Path, name: str, at: int) -> Site:
    site = Site(folder, plan_of(name))
    site.command(Interruption(at, "lost"))
    return site


def in_the_middle(folder: Path, name: str = "small") -> Site:
    steps = [at for at, call in enumerate(expected(name)[1], start=1) if call == "runs.step"]
    return interrupted(folder, name, steps[len(steps) // 2])


def elsewhere(site: Site) -> Site:
    """The same folders, and a Redis that knows nothing."""
    return Site(site.runs_dir, site.plan)


def kept_jobs(site: Site) -> set[str]:
    return set(LedgerFile(site.folder.path / NAME).read())


@pytest.mark.parametrize("name", ["small", "rich"])
def test_after_any_event_the_run_goes_on_from_its_folder_alone(tmp_path, name):
    outcome, calls = expected(name)
    steps = [at for at, call in enumerate(calls, start=1) if call == "runs.step"]
    for at in steps:
        lost = interrupted(tmp_path / str(at), name, at)
        site = elsewhere(lost)
        kept = kept_jobs(lost)
        restored = restore_if_lost(site.state, site.folder)
        assert (restored is None) is (site.folder.last_seq() == 0)
        assert site.continue_by(site.command) == outcome
        again = set(lost.fleet.executed) & set(site.fleet.executed)
        assert not again & kept, "what is in the folder is not paid for again"
        shutil.rmtree(lost.runs_dir)


def test_ledger_log_and_spending_come_back_exactly(tmp_path):
    lost = in_the_middle(tmp_path)
    lost.clock.now += lost.timing.lead_s
    complete_folder(lost.folder, lost.state, lost.plan)
    site = elsewhere(lost)
    done = restore(site.state, site.folder)
    assert done.what == "restored"
    mirrored = lost.folder.read_entries()
    assert [(e.seq, e.at) for e in site.state.runs.log(site.run)] == [
        (e.seq, e.at) for e in mirrored
    ]
    assert site.events() == lost.events()
    before, after = (one.state.runs.ledger(one.run) for one in (lost, site))
    assert set(after) == kept_jobs(lost) <= set(before)
    for job, line in after.items():
        assert LedgerLine.model_validate_json(line) == LedgerLine.model_validate_json(before[job])
    mine, theirs = lost.state.results.get(list(after)), site.state.results.get(list(after))
    assert {job: (one.body, one.receipt) for job, one in theirs.items()} == {
        job: (one.body, one.receipt) for job, one in mine.items()
    }
    paid, spent = (one.state.budgets.spend(one.run).calls for one in (site, lost))
    assert 0 < sum(paid.values()) == done.calls
    assert all(paid[role] <= spent[role] for role in paid)


def test_restoring_twice_changes_nothing(tmp_path):
    lost = in_the_middle(tmp_path)
    site = elsewhere(lost)
    assert restore(site.state, site.folder).what == "restored"
    before = (site.events(), site.state.runs.ledger(site.run), site.state.budgets.spend(site.run))
    assert restore(site.state, site.folder).what == "present"
    assert restore_if_lost(site.state, site.folder) is None
    after = (site.events(), site.state.runs.ledger(site.run), site.state.budgets.spend(site.run))
    assert after == before


def test_a_run_that_somebody_works_on_is_not_restored_over(tmp_path):
    site = in_the_middle(tmp_path)
    site.clock.now += site.timing.lead_s
    lead = site.state.runs.lead(site.run, "busy")
    assert isinstance(lead, Lead)
    before = site.events()
    with pytest.raises(InputError, match="at work on it"):
        restore(site.state, site.folder)
    assert site.events() == before


def test_a_redis_that_lost_only_the_end_gets_it_back(tmp_path):
    lost = in_the_middle(tmp_path)
    site = elsewhere(lost)
    entries = lost.folder.read_entries()
    whole = (lost.folder.path / "events.jsonl").read_bytes()
    short = whole.splitlines(keepends=True)[: len(entries) // 2]
    (lost.folder.path / "events.jsonl").write_bytes(b"".join(short))
    restore(site.state, site.folder)
    (lost.folder.path / "events.jsonl").write_bytes(whole)
    done = restore_if_lost(site.state, type(site.folder)(site.folder.path))
    assert done is not None
    assert done.what == "completed"
    assert len(site.events()) == len(entries)
    assert site.continue_by(site.command) == expected("small")[0]


def test_two_histories_of_one_run_are_refused(tmp_path):
    lost = in_the_middle(tmp_path)
    site = elsewhere(lost)
    restore(site.state, site.folder)
    path = lost.folder.path / "events.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1]["event"] = {"type": "paused", "why": "requested", "detail": "another history"}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(StateCorrupt, match=r"line 2 of .*events\.jsonl.*two histories"):
        restore(site.state, type(site.folder)(site.folder.path))


DAMAGE = {
    "an event that is none": (
        "events.jsonl",
        lambda text: text.replace(b'"type":"measured"', b'"type":"mended"', 1),
        r"line 2 of '.*events\.jsonl'",
    ),
    "a line that is no JSON": (
        "events.jsonl",
        lambda text: text.replace(b'{"seq":2', b'{"seq":', 1),
        r"line 2 of '.*events\.jsonl'",
    ),
    "a line that is missing": (
        "events.jsonl",
        lambda text: b"".join(text.splitlines(keepends=True)[1:]),
        r"line 1 of '.*events\.jsonl'",
    ),
    "no event at all": ("events.jsonl", lambda text: b"", "no events"),
    "a foreign plan": ("plan.json", lambda text: b'{"name": "x"}', r"plan\.json"),
    "a plan cut off": ("plan.json", lambda text: text[: len(text) // 2], r"plan\.json"),
    "a ledger of something else": (NAME, lambda text: b"something else!!", "no part begins"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_folder_is_a_typed_error_and_changes_nothing(tmp_path, what):
    name, damage, message = DAMAGE[what]
    lost = in_the_middle(tmp_path)
    path = lost.folder.path / name
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    site = elsewhere(lost)
    with pytest.raises(SkillOptError, match=message) as caught:
        restore(site.state, site.folder)
    assert isinstance(caught.value, InputError | StateCorrupt)
    assert site.state.runs.all() == []
    assert site.state.runs.ledger(site.run) == {}


def test_without_its_ledger_a_run_ends_the_same_and_pays_for_its_stage_again(tmp_path):
    lost = in_the_middle(tmp_path)
    (lost.folder.path / NAME).unlink()
    site = elsewhere(lost)
    done = restore(site.state, site.folder)
    assert (done.results, done.calls) == (0, 0)
    assert done.wanted > 0
    assert str(done.wanted) in restored_words(done)
    assert site.continue_by(site.command) == expected("small")[0]


def test_a_score_without_its_reply_is_kept_and_said(tmp_path):
    lost = in_the_middle(tmp_path)
    file = LedgerFile(lost.folder.path / NAME)
    [job, *_] = [job for job, one in file.read().items() if one.body and '"judgement"' in one.body]
    file.append([file.read()[job].model_copy(update={"body": None, "receipt": None})])
    site = elsewhere(lost)
    done = restore(site.state, site.folder)
    assert done.without_reply == 1
    assert "1 more have only their scores left" in restored_words(done)
    assert job in site.state.runs.ledger(site.run)
    assert site.continue_by(site.command) == expected("small")[0]


def test_a_finished_run_comes_back_finished(tmp_path):
    site = Site(tmp_path, plan_of("small"))
    site.command()
    other = elsewhere(site)
    done = restore(other.state, other.folder)
    assert (done.status, done.wanted) == ("finished", 0)
    assert other.state.runs.open_runs() == []
    assert isinstance(done, Restored)
