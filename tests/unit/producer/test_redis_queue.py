"""What a team sees of its runs: the same on a state in memory and on a Redis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_double import TIMING
from queue_bench import TeamBench, memory_state
from scripted_models import BlobStore, Models
from scripted_run import make_plan

from producer.queue.models import EventRow, Quota, Retuning, RunStatus, Tags
from producer.queue.on_redis import RedisQueue
from producer.run_folder import RunFolder
from skillopt.domain.jobs import JudgeSpec
from skillopt.domain.results import Body, JudgementBody
from skillopt.domain.run import RunState
from skillopt.errors import Conflict, InputError
from skillopt.state.ports import Amount, WorkerInfo
from skillopt.state.redis.connect import connect

WORKER = WorkerInfo(
    "sim-1@host", "sim", "f1", capacity=8, version="0.1", credential="c", endpoint="e"
)


@pytest.fixture(params=["memory", "redis"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TeamBench]:
    if request.param == "memory":
        yield TeamBench(memory_state(), tmp_path)
        return
    with connect(request.getfixturevalue("redis_url"), TIMING) as state:
        yield TeamBench(state, tmp_path)


# --- the list -----------------------------------------------------------------------------------


def test_a_run_that_nobody_has_taken_up_is_queued_and_says_what_it_waits_for(bench: TeamBench):
    bench.submit(owner="ann", team="blue", labels={"ticket": "7"})
    [row] = bench.queue.runs()
    assert (row.phase, row.position, row.eta_s) == ("queued", 1, None)
    assert (row.owner, row.team, row.labels) == ("ann", "blue", {"ticket": "7"})
    assert "none is running" in row.words
    bench.state.fleet.announce_coordinator("host:1")
    [row] = bench.queue.runs()
    assert row.words == "waiting for a coordinator, and then for a worker of sim"
    bench.state.fleet.announce(WORKER)
    [row] = bench.queue.runs()
    assert row.words == "waiting for a coordinator, which takes it up in a moment"


def test_a_running_run_tells_its_stage_and_how_long_it_still_takes(bench: TeamBench):
    plan = bench.submit()
    bench.drive(plan, "step 2 / gate", keeps_lead=True)
    [row] = bench.queue.runs()
    assert (row.phase, row.step, row.steps_planned, row.position) == ("running", 2, 4, 1)
    assert row.words.startswith("step 2: ")
    assert row.eta_s is not None
    assert row.projected_calls is not None
    assert row.projected_calls > row.spent.calls > 0
    assert row.ended_at is None


def test_a_run_whose_coordinator_is_gone_says_so(bench: TeamBench):
    plan = bench.submit()
    bench.drive(plan, "step 2 / gate")
    [row] = bench.queue.runs()
    assert row.phase == "running", "something has happened in it"
    assert row.words.startswith("waiting for a coordinator")
    assert row.eta_s is None


def test_a_finished_run_tells_how_it_ended_and_what_came_of_it(bench: TeamBench):
    bench.finished()
    [row] = bench.queue.runs()
    assert (row.phase, row.words) == ("finished", "all 4 steps are done")
    assert (row.initial_score, row.current_score, row.best_score) == (0.0, 0.75, 0.75)
    assert row.projected_calls == row.spent.calls == 55
    assert row.spent.calls_by_role == {"target": 40, "optimizer": 15, "judge": 0}
    assert (row.position, row.eta_s) == (None, None)
    assert row.ended_at is not None


def test_places_are_counted_among_runs_that_share_a_backend(bench: TeamBench):
    first = bench.submit(name="first")
    second = bench.submit(name="second")
    others = {
        role: use.model_copy(update={"backend": "other"}) for role, use in first.backends.items()
    }
    apart = bench.submit(name="apart", backends=others)
    assert {row.run: row.position for row in bench.queue.runs()} == {
        first.run_id: 1,
        second.run_id: 2,
        apart.run_id: 1,
    }


def test_runs_are_listed_newest_first_and_narrowed(bench: TeamBench):
    old = bench.finished(name="old", owner="ann", labels={"a": "1", "b": "2"})
    new = bench.submit(name="new", owner="bob", labels={"a": "1"})
    queue = bench.queue
    assert [row.run for row in queue.runs()] == [new.run_id, old.run_id]
    assert [row.run for row in queue.runs(limit=1)] == [new.run_id]
    assert [row.run for row in queue.runs(owner="ann")] == [old.run_id]
    assert [row.run for row in queue.runs(phase="queued")] == [new.run_id]
    assert queue.runs(phase="running") == []
    assert [row.run for row in queue.runs(labels={"a": "1"})] == [new.run_id, old.run_id]
    assert [row.run for row in queue.runs(labels={"a": "1", "b": "2"})] == [old.run_id]
    assert queue.runs(labels={"a": "2"}) == []


def test_a_run_that_cannot_be_read_is_listed_with_the_reason(bench: TeamBench):
    bench.submit(name="whole")
    bench.state.runs.create("odd", meta={"name": "odd"}, events=["{}"], status="running")
    odd, whole = bench.queue.runs()
    assert (odd.run, odd.phase) == ("odd", "running")
    assert "does not say where its plan is stored" in odd.words
    assert whole.phase == "queued"


def test_ended_runs_are_folded_once_and_open_ones_only_where_they_grew(bench: TeamBench):
    for number in range(3):
        bench.finished(name=f"done-{number}")
    going = bench.submit(name="going")
    bench.drive(going, "step 1 / gate", keeps_lead=True)
    bench.queue.runs()
    reads: list[tuple[str, int]] = []
    log = bench.state.runs.log

    def counted(run: str, *, after: int = 0):
        reads.append((run, after))
        return log(run, after=after)

    bench.state.runs.log = counted  # type: ignore[method-assign]
    bench.queue.runs()
    assert reads == []
    before = len(log(going.run_id))
    lead = bench.state.runs.lead(going.run_id, "coordinator-1")
    assert lead is not None
    bench.state.runs.step(
        lead,
        version=before,
        events=['{"type": "left_out", "items": {}}'],
        status="running",
        open=True,
    )
    bench.queue.runs()
    assert reads == [(going.run_id, before)]


def test_a_run_removed_and_made_anew_is_not_the_one_that_was_followed(bench: TeamBench):
    plan = bench.finished()
    assert bench.queue.runs()[0].phase == "finished"
    assert bench.state.archive.remove(plan.run_id) is not None
    assert bench.queue.runs() == []
    bench.submit(plan)
    assert bench.queue.runs()[0].phase == "queued"


# --- finding ------------------------------------------------------------------------------------


def test_a_run_is_found_by_id_name_prefix_and_as_the_last(bench: TeamBench):
    old = bench.submit(name="greeter")
    new = bench.submit(name="writer")
    for reference in (old.run_id, "greeter", old.run_id[:9]):
        assert bench.queue.status(reference).row.run == old.run_id
    assert bench.queue.status("last").row.run == new.run_id


def test_a_reference_to_no_run_or_several_names_candidates(bench: TeamBench):
    with pytest.raises(InputError, match="there is none here"):
        bench.queue.status("x")
    one, other = bench.submit(name="greeter-a"), bench.submit(name="greeter-b")
    with pytest.raises(InputError, match="no run 'x' here; give the id of one") as none:
        bench.queue.status("x")
    assert one.run_id in str(none.value)
    with pytest.raises(InputError, match="means several runs") as several:
        bench.queue.status("greeter")
    assert other.run_id in str(several.value)


def test_who_may_not_see_a_run_is_told_that_there_is_none(bench: TeamBench):
    plan = bench.submit(owner="ann", team="blue")
    bob = bench.queue.for_caller(owner="bob", team="red", sees=lambda owner, team: owner == "bob")
    assert bob.runs() == []
    for reference in (plan.run_id, plan.name, "last"):
        with pytest.raises(InputError, match="no run"):
            bob.status(reference)
    ann = bench.queue.for_caller(owner="ann", team="blue", sees=lambda owner, team: team == "blue")
    assert [row.run for row in ann.runs()] == [plan.run_id]


# --- one run ------------------------------------------------------------------------------------


def test_the_status_tells_stage_stages_cache_and_limits(bench: TeamBench):
    plan = bench.submit(make_plan(name="one"))
    bench.drive(plan, "step 2 / gate", keeps_lead=True)
    status = bench.queue.status("one")
    assert status.stage.startswith("step 2 / ")
    assert (status.cache_hits, status.cache_hit_rate) == (0, 0.0)
    assert status.stages[-1].ended_at is None
    assert status.stages[-1].label == status.stage
    assert status.budget == {
        "max_calls": None,
        "max_tokens": None,
        "max_usd": None,
        "max_minutes": None,
    }
    assert status.run_dir is None


def test_results_of_other_runs_count_as_cache_hits(bench: TeamBench):
    bench.finished(name="first")
    bench.finished(name="second")
    status = bench.queue.status("second")
    assert status.cache_hits > 0
    assert status.cache_hit_rate == 1.0
    assert status.row.spent.calls == 0


def test_the_curve_has_train_val_best_and_verdicts(bench: TeamBench):
    bench.finished()
    rows = bench.queue.curve("last")
    assert [(row.label, row.val, row.best, row.verdict) for row in rows] == [
        ("0", 0.0, 0.0, None),
        ("1", 0.5, 0.5, "accepted"),
        ("2", 0.75, 0.75, "accepted"),
        ("3", 0.75, 0.75, "rejected"),
        ("4", 0.75, 0.75, "rejected"),
    ]
    assert [row.train for row in rows] == [None, 0.0, 0.25, 0.75, 0.75]


def test_the_curve_grows_while_a_step_is_under_way(bench: TeamBench):
    plan = bench.submit()
    assert bench.queue.curve("last") == []
    bench.drive(plan, "step 1 / gate", keeps_lead=True)
    start, step = bench.queue.curve("last")
    assert start.val == 0.0
    assert (step.label, step.train, step.verdict) == ("1", 0.0, None)


def test_a_gate_shows_both_documents_task_by_task_with_their_records(bench: TeamBench):
    bench.finished()
    first = bench.queue.gates("last")[0]
    assert (first.label, first.outcome, first.new_best) == ("1", "accepted", True)
    assert first.sentences[-1] == "It became the current and the best document."
    changes = {one.task: one for one in first.tasks}
    assert {task: one.change for task, one in changes.items()} == {
        "val-alpha": "better",
        "val-beta": "same",
        "val-gamma": "better",
        "val-unknown": "same",
    }
    alpha = changes["val-alpha"]
    assert (alpha.current, alpha.candidate) == (0.0, 1.0)
    [candidate], [current] = alpha.candidate_records, alpha.current_records
    [record] = bench.queue.records("last", call=candidate)
    assert (record["item"], record["hard"]) == ("val-alpha", 1.0)
    assert bench.queue.records("last", call=current)[0]["hard"] == 0.0


def test_a_gate_quotes_what_the_judge_said(bench: TeamBench):
    bench.fleet.models = _Remarking()
    bench.finished()
    feedback = {one.task: one.feedback for one in bench.queue.gates("last")[0].tasks}
    assert feedback["val-unknown"] == "- failed: the answer says unknown"
    assert feedback["val-alpha"] == ""


def test_the_difference_of_a_step_is_to_the_document_it_came_from(bench: TeamBench):
    plan = bench.finished()
    whole = bench.queue.diff("last")
    assert whole.before == f"initial {plan.initial_key[:16]}"
    assert whole.after.startswith("best ")
    assert "+Always say alpha." in whole.lines
    second = bench.queue.diff("last", "2")
    assert second.before.startswith("current ")
    assert "+Always say alpha." not in second.lines
    assert "+Always say beta." in second.lines
    assert bench.queue.diff("last", "initial").lines == ()
    with pytest.raises(InputError, match="'9' names no document"):
        bench.queue.diff("last", "9")


def test_blame_names_the_step_of_each_line(bench: TeamBench):
    bench.finished()
    steps = {line["text"]: line["step"] for line in bench.queue.blame("last")}
    assert steps["# Greeter"] == 0
    assert steps["Always say alpha."] == 1


def test_records_are_narrowed_to_step_task_and_call(bench: TeamBench):
    bench.finished()
    queue = bench.queue
    assert len(queue.records("last", limit=3)) == 3
    of_step = queue.records("last", step=2, limit=500)
    assert {record["step"] for record in of_step} == {2}
    assert {record["kind"] for record in of_step} == {"rollout", "optimizer"}
    of_task = queue.records("last", task="val-alpha", limit=500)
    assert {record["item"] for record in of_task} == {"val-alpha"}
    call = next(record for record in of_step if record["kind"] == "optimizer")
    [same] = queue.records("last", call=call["label"])
    assert same == call
    assert same["messages"]
    assert queue.records("last", call="nothing") == []


def test_events_come_in_pages_with_words(bench: TeamBench):
    bench.finished()
    first = bench.queue.events("last", limit=2)
    assert [row.seq for row in first] == [1, 2]
    assert first[0].type == "run_created"
    assert first[0].event["name"] == "greeter"
    rest = bench.queue.events("last", after=2)
    assert rest[0].seq == 3
    assert rest[-1].words.startswith("finished: every step is done")


def test_following_a_run_gives_the_rest_of_its_events_then_its_end(bench: TeamBench):
    bench.finished()
    told = list(bench.queue.follow("last", after=5))
    assert isinstance(told[-1], RunStatus)
    assert told[-1].row.phase == "finished"
    rows = [one for one in told if isinstance(one, EventRow)]
    assert [row.seq for row in rows] == list(range(6, len(rows) + 6))
    assert rows[-1].type == "finished"


# --- steering -----------------------------------------------------------------------------------


def test_a_run_that_nobody_drives_is_paused_retuned_resumed_and_cancelled(bench: TeamBench):
    bench.submit()
    queue = bench.queue
    assert queue.pause("last").outcome == "done"
    [row] = queue.runs()
    assert (row.phase, row.position) == ("paused", None)
    assert queue.pause("last").outcome == "unchanged"
    assert queue.retune("last", Retuning(max_calls=99, priority="high")).outcome == "done"
    assert queue.resume("last").outcome == "done"
    status = queue.status("last")
    assert (status.row.phase, status.row.priority) == ("queued", "high")
    assert status.budget["max_calls"] == 99
    assert queue.cancel("last").outcome == "done"
    [row] = queue.runs()
    assert row.phase == "cancelled"
    assert row.ended_at is not None


def test_a_finished_run_cannot_be_resumed(bench: TeamBench):
    bench.finished()
    with pytest.raises(Conflict):
        bench.queue.resume("last")


# --- fleet, limits, quotas, spending ------------------------------------------------------------


def test_the_fleet_lists_backends_workers_and_runs(bench: TeamBench):
    bench.state.fleet.announce(WORKER)
    bench.state.fleet.announce_coordinator("host:1")
    bench.submit(name="queued")
    running = bench.submit(name="running")
    bench.state.runs.lead(running.run_id, "c1")
    page = bench.queue.fleet()
    [backend] = page.backends
    assert (backend.name, backend.workers, backend.capacity) == ("sim", 1, 8)
    assert (backend.in_flight, backend.breaker, backend.queued) == (0, "closed", 0)
    assert [worker.worker for worker in page.workers] == ["sim-1@host"]
    assert (page.coordinators, page.queued_runs, page.running_runs) == (1, 1, 1)
    assert page.dead_jobs == 0


def test_a_backend_that_a_run_wants_is_listed_without_a_worker(bench: TeamBench):
    bench.submit()
    [backend] = bench.queue.fleet().backends
    assert (backend.name, backend.workers, backend.breaker) == ("sim", 0, "")


def test_limits_are_set_over_those_of_the_workers(bench: TeamBench):
    told = {"rpm": 100, "tpm": 5000, "min_concurrency": 1}
    bench.state.fleet.announce(
        WorkerInfo("w", "sim", "f1", capacity=8, credential="c", endpoint="e", limits=told)
    )
    bench.queue.set_limits("sim", {"rpm": 300.0, "concurrency": 2})
    [backend] = bench.queue.fleet().backends
    assert backend.limits == {"rpm": 300, "tpm": 5000, "concurrency": 2}
    assert backend.set_limits == {"rpm": 300, "concurrency": 2}
    assert backend.allowed == 2
    bench.queue.set_limits("sim", {"rpm": None, "concurrency": None})
    [backend] = bench.queue.fleet().backends
    assert backend.limits == {"rpm": 100, "tpm": 5000, "concurrency": None}
    assert backend.set_limits == {}


@pytest.mark.parametrize(
    ("backend", "limits", "words"),
    [
        ("simm", {"rpm": 1}, "no worker serves a backend 'simm'; those that are served: sim"),
        ("sim", {}, "no limit is given for 'sim'"),
        ("sim", {"rmp": 1}, "'rmp' is no limit of a backend"),
        ("sim", {"rpm": 1.5}, "rpm=1.5 is no whole number from 1 on"),
        ("sim", {"rpm": 0}, "rpm=0 is no whole number from 1 on"),
        ("sim", {"rpm": float("nan")}, "rpm=nan is no whole number"),
        ("sim", {"concurrency": 1000}, "limits of 'sim': concurrency"),
        ("sim", {"concurrency": 2, "min_concurrency": 3}, "limits of 'sim': min_concurrency"),
    ],
)
def test_limits_that_make_no_sense_are_refused(bench: TeamBench, backend, limits, words):
    bench.state.fleet.announce(WORKER)
    with pytest.raises(InputError, match=words):
        bench.queue.set_limits(backend, limits)
    assert bench.state.limits.all() == {}


def test_quotas_are_set_and_shown_with_the_runs_there_are(bench: TeamBench):
    bench.submit(owner="ann")
    bench.queue.set_quota(Quota(owner="ann", max_runs=2, max_window=8))
    assert bench.queue.quotas() == [Quota(owner="ann", max_runs=2, max_window=8, runs=1)]
    for quota in (
        Quota(owner="a b"),
        Quota(owner="ann", max_runs=-1),
        Quota(owner="ann", max_window=0),
    ):
        with pytest.raises(InputError):
            bench.queue.set_quota(quota)


def test_spending_is_summed_by_whom_it_is_asked_of(bench: TeamBench):
    _pay(bench, "r1", "ann", "blue", usd=30)
    _pay(bench, "r2", "bob", "blue", usd=50)
    _pay(bench, "r3", "ann", "", usd=40)
    spend = bench.queue.spend
    assert [(row.key, row.calls, row.usd) for row in spend("owner")] == [
        ("ann", 2, 70.0),
        ("bob", 1, 50.0),
    ]
    assert [(row.key, row.usd) for row in spend("team", since_s=3600)] == [
        ("blue", 80.0),
        ("", 40.0),
    ]
    assert [row.key for row in spend("run")] == ["r2", "r3", "r1"]
    assert [(row.key, row.calls) for row in spend("backend")] == [("gpt", 3)]
    mine = bench.queue.for_caller(owner="bob", team="", sees=lambda owner, team: owner == "bob")
    assert [row.key for row in mine.spend("owner")] == ["bob"]


# --- exporting ----------------------------------------------------------------------------------


def test_a_run_without_a_folder_here_is_exported_from_the_state(bench: TeamBench, tmp_path: Path):
    plan = bench.finished(name="far")
    exported = bench.queue.export("far", tmp_path / "out")
    assert exported["run"] == plan.run_id
    folder = RunFolder(tmp_path / "out")
    state: RunState = folder.state()
    assert state.finished
    assert (folder.path / "best_skill.md").read_text() == state.texts[state.best].skill
    summary = json.loads((folder.path / "summary.json").read_text())
    assert (summary["run"], summary["state"], summary["calls"]["total"]) == (
        plan.run_id,
        "finished",
        55,
    )
    assert len(list(folder.records(item="val-alpha"))) > 0
    bench.queue.export("far", tmp_path / "short", records=False)
    assert not (tmp_path / "short" / "rollouts").exists()
    with pytest.raises(InputError, match="is not empty"):
        bench.queue.export("far", tmp_path / "out")


def test_nothing_is_submitted_where_specs_are_not_taken(bench: TeamBench, tmp_path: Path):
    with pytest.raises(InputError, match="cannot be submitted here"):
        RedisQueue(bench.state, tmp_path).submit(tmp_path / "spec.yaml", Tags())


class _Remarking(Models):
    """Judges that say what is missing."""

    def judge(self, spec: JudgeSpec, blobs: BlobStore) -> Body:
        body = super().judge(spec, blobs)
        if not isinstance(body, JudgementBody) or body.hard:
            return body
        word = json.loads(blobs.read(spec.judge))["answer"]
        return body.model_copy(update={"feedback": f"- failed: the answer says {word}"})


def _pay(bench: TeamBench, run: str, owner: str, team: str, *, usd: int) -> None:
    budgets = bench.state.budgets
    budgets.join(run, owner=owner, team=team)
    amount = Amount(calls=1, tokens=10, micro_usd=1)
    assert budgets.reserve(run, "c", job="j", role="target", estimate=amount, backend="gpt") is None
    budgets.settle(run, "c", input_tokens=7, output_tokens=2, micro_usd=usd * 1_000_000)
