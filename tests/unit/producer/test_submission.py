"""Submitting to the team's queue: nobody drives the run here, a coordinator elsewhere does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fleet_double import TIMING, Fleet
from queue_bench import memory_state

from producer.coordinator import Coordinator
from producer.queue.models import Tags
from producer.queue.on_redis import RedisQueue
from producer.queue.submission import SpecSubmitter
from producer.run_folder import RunFolder
from skillopt.domain.notices import Notify
from skillopt.errors import ConfigError, QuotaExceeded
from skillopt.state.ports import Scope, State, WorkerInfo
from skillopt.state.redis.connect import connect

DEADLINE_S = 30
#: Coordinators look at their runs this often in these tests.
QUICK = replace(TIMING, tick_s=0.05, lead_renew_s=5)


@pytest.fixture(params=["memory", "redis"])
def state(request: pytest.FixtureRequest) -> Iterator[State]:
    if request.param == "memory":
        yield memory_state()
        return
    with connect(request.getfixturevalue("redis_url"), QUICK) as opened:
        yield opened


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "SKILL.md").write_text("# Sums\n\nAdd carefully.\n")
    tasks = [
        {
            "task_id": f"t-{n}",
            "task": f"On page {n}, say word{n % 3}.",
            "judge": {"kind": "exact", "answer": f"word{n % 3}", "substring": True},
        }
        for n in range(12)
    ]
    (home / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return _written(home / "spec.yaml", "")


def _written(path: Path, more: str) -> Path:
    path.write_text(
        "name: sums\nskill: SKILL.md\ntasks: tasks.jsonl\nmodel: {target: sim}\n"
        "train: {num_epochs: 1, batch_size: 4}\nlabels: {from: spec}\n" + more
    )
    return path


def queue_of(state: State, store: Path, **changes) -> RedisQueue:
    submitter = SpecSubmitter(
        state,
        store / "runs",
        environ={},
        publish_revision=lambda backend: "published-1",
        wait=lambda seconds: None,
    )
    return RedisQueue(state, store, submitter=replace(submitter, **changes))


def coordinate(state: State, runs_dir: Path, until: Callable[[], bool]) -> None:
    """Let a coordinator look after all runs, with workers that act when sent to."""
    stop = threading.Event()
    coordinator = Coordinator(state, Fleet(state, QUICK), runs_dir, QUICK)  # type: ignore[arg-type]
    thread = threading.Thread(target=coordinator.serve, args=[stop])
    thread.start()
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not until() and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        stop.set()
        thread.join()
    assert until()


def test_a_submitted_run_waits_with_its_owner_labels_and_priority(
    state: State, spec: Path, tmp_path: Path
):
    queue = queue_of(state, tmp_path / "store").for_caller(owner="ann", team="blue", sees=None)
    row = queue.submit(spec, Tags(priority="high", labels={"ticket": "7"}))
    assert (row.name, row.phase, row.owner, row.team) == ("sums", "queued", "ann", "blue")
    assert (row.priority, row.labels) == ("high", {"from": "spec", "ticket": "7"})
    assert not (tmp_path / "store").exists(), "nothing is left where it was submitted"
    info = state.runs.info(row.run)
    assert info is not None
    assert (info.meta["spec"], info.meta["skill"]) == ("spec.yaml", "SKILL.md")
    assert str(tmp_path) not in json.dumps(dict(info.meta))


def test_the_spec_says_the_priority_unless_it_is_given(state: State, spec: Path, tmp_path: Path):
    _written(spec, "priority: low\n")
    assert queue_of(state, tmp_path).submit(spec, Tags()).priority == "low"


def test_overrides_change_the_run(state: State, spec: Path, tmp_path: Path):
    row = queue_of(state, tmp_path).submit(spec, Tags(), overrides=["train.num_epochs=3"])
    plain = queue_of(state, tmp_path).submit(spec, Tags())
    assert row.run != plain.run
    assert (row.steps_planned, plain.steps_planned) == (6, 2)


def test_a_coordinator_elsewhere_lays_the_folder_out_and_sums_the_run_up(
    state: State, spec: Path, tmp_path: Path
):
    queue = queue_of(state, tmp_path / "store")
    run = queue.submit(spec, Tags()).run
    runs_dir = tmp_path / "elsewhere" / "runs"
    coordinate(state, runs_dir, (runs_dir / run / "summary.json").exists)
    [row] = queue.runs()
    assert row.phase == "finished"
    folder = RunFolder(runs_dir / run)
    assert folder.state().finished
    summary = folder.read_summary()
    assert summary is not None
    assert (summary.skill, summary.calls.total) == ("SKILL.md", row.spent.calls)
    assert state.fleet.coordinators() == [], "it has said goodbye"


def test_attachments_reach_the_coordinators_folder(state: State, spec: Path, tmp_path: Path):
    note = spec.parent / "note.txt"
    note.write_text("word0\n")
    lines = (spec.parent / "tasks.jsonl").read_text().splitlines()
    first = json.loads(lines[0]) | {"attachments": ["note.txt"]}
    (spec.parent / "tasks.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    queue = queue_of(state, tmp_path / "store")
    run = queue.submit(spec, Tags()).run
    note.unlink()
    runs_dir = tmp_path / "elsewhere"
    coordinate(state, runs_dir, lambda: queue.runs()[0].phase == "finished")
    [kept] = (runs_dir / run / "attachments").iterdir()
    assert kept.read_text() == "word0\n"
    queue.export(run, tmp_path / "out")
    [exported] = (tmp_path / "out" / "attachments").iterdir()
    assert exported.read_text() == "word0\n"


def test_submitting_again_continues_and_a_finished_run_is_shown(
    state: State, spec: Path, tmp_path: Path
):
    queue = queue_of(state, tmp_path / "store")
    run = queue.submit(spec, Tags()).run
    queue.pause(run)
    again = queue.submit(spec, Tags())
    assert (again.run, again.phase) == (run, "queued")
    coordinate(state, tmp_path / "runs", lambda: queue.runs()[0].phase == "finished")
    assert queue.submit(spec, Tags()).phase == "finished"


def test_a_backend_that_workers_understand_otherwise_is_refused_with_both_values(
    state: State, spec: Path, tmp_path: Path
):
    state.fleet.announce(WorkerInfo("sim-1@host", "sim", "0" * 64, capacity=1))
    with pytest.raises(ConfigError, match=r"backend 'sim' is '[0-9a-f]{16}' here") as refused:
        queue_of(state, tmp_path).submit(spec, Tags())
    assert "sim-1@host has 0000000000000000" in str(refused.value)
    assert state.runs.all() == []


def test_a_backend_with_one_fitting_worker_is_taken(state: State, spec: Path, tmp_path: Path):
    queue = queue_of(state, tmp_path)
    run = queue.submit(spec, Tags(), overrides=["train.seed=1"]).run
    info = state.runs.info(run)
    assert info is not None
    stored = state.blobs.get([info.meta["plan"]])[info.meta["plan"]]
    fingerprint = json.loads(stored)["backends"]["target"]["fingerprint"]
    state.fleet.announce(WorkerInfo("other", "sim", "0" * 64, capacity=1))
    state.fleet.announce(WorkerInfo("fitting", "sim", fingerprint, capacity=1))
    assert queue.submit(spec, Tags()).phase == "queued"


def test_an_owner_over_the_quota_is_refused_before_anything_is_stored(
    state: State, spec: Path, tmp_path: Path
):
    state.quotas.set("ann", max_runs=0, max_window=None)
    queue = queue_of(state, tmp_path).for_caller(owner="ann", team="", sees=None)
    with pytest.raises(QuotaExceeded, match="ann"):
        queue.submit(spec, Tags())
    assert state.runs.all() == []


def test_an_owners_money_cap_needs_prices(state: State, spec: Path, tmp_path: Path):
    _written(spec, "backends:\n  sim: {kind: openai_compatible, base_url: 'http://127.0.0.1:9/v1', "
             "model: m}\n")  # fmt: skip
    state.budgets.set_shared_caps(Scope("owner", "ann"), {"usd": 1_000_000})
    queue = queue_of(state, tmp_path).for_caller(owner="ann", team="", sees=None)
    with pytest.raises(ConfigError, match="owner 'ann' may spend"):
        queue.submit(spec, Tags())


def test_another_owners_run_of_the_same_content_is_left_alone(
    state: State, spec: Path, tmp_path: Path
):
    queue = queue_of(state, tmp_path)
    anns = queue.for_caller(owner="ann", team="", sees=None).submit(spec, Tags())
    bobs = queue.for_caller(owner="bob", team="", sees=None).submit(spec, Tags())
    assert anns.run != bobs.run
    assert (anns.owner, bobs.owner) == ("ann", "bob")


def test_what_the_submitter_was_warned_of_is_shown_with_the_run(
    state: State, spec: Path, tmp_path: Path
):
    _written(spec, "optimizer: {use_slow_update: true}\ngradient: {contrastive: true}\n")
    run = queue_of(state, tmp_path).submit(spec, Tags()).run
    info = state.runs.info(run)
    assert info is not None
    warned = json.loads(info.meta.get("warnings", "[]"))
    assert list(queue_of(state, tmp_path).status(run).warnings)[: len(warned)] == warned


def test_a_webhook_is_watched_from_the_first_event(state: State, spec: Path, tmp_path: Path):
    _written(spec, "notify: {webhook: 'http://127.0.0.1:9/hook', on: [paused]}\n")
    queue = queue_of(state, tmp_path)
    run = queue.submit(spec, Tags()).run
    watched = state.notices.get(run)
    assert watched is not None
    assert watched.cursor == 0
    assert Notify.model_validate_json(watched.target).on == ["paused"]
    queue.submit(_written(spec, ""), Tags())
    assert state.notices.get(run) is None, "the spec names none any more"


def test_a_webhook_on_the_servers_machine_is_refused_from_strangers(
    state: State, spec: Path, tmp_path: Path
):
    _written(spec, "notify: {webhook: 'http://127.0.0.1:9/hook'}\n")
    with pytest.raises(ConfigError, match="is on the server's own machine"):
        queue_of(state, tmp_path, local_webhooks=False).submit(spec, Tags())
