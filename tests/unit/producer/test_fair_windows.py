"""Coordinators keep to their runs' fair parts of a backend."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fleet_double import TIMING, Bench
from scripted_run import item, make_plan

from producer.control import pause_run, resume_run
from producer.coordinator import Coordinator
from skillopt.domain.item import Splits
from skillopt.domain.plan import RunPlan
from skillopt.domain.view import RunView, ShareView
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import Demand, Lane, WorkerInfo

TASKS = 60
WORKER = WorkerInfo("w", "sim", "f1", capacity=20)


def measuring(name: str, **changes: Any) -> RunPlan:
    """An evaluation of many tasks that no other run shares."""
    tasks = tuple(item(f"{name}-{n}", "alpha") for n in range(TASKS))
    splits = Splits(test=tasks)
    return make_plan(name=name, mode="eval", eval_split="test", splits=splits, **changes)


def stuck(bench: Bench, plan: RunPlan) -> RunView:
    """Drive a run for one round while no message arrives; give what people are told."""
    bench.fleet.mishap = lambda job, lane: "lost"
    bench.doorbell.idle = bench.stop.set
    bench.stop.clear()
    bench.drive(plan.run_id)
    return RunView.model_validate_json(bench.state.runs.view(plan.run_id) or "")


def alive(bench: Bench) -> Bench:
    bench.state.fleet.announce(WORKER)
    return bench


def test_a_run_alone_has_two_jobs_for_every_slot():
    bench, plan = alive(Bench()), measuring("a")
    bench.submit(plan)
    view = stuck(bench, plan)
    assert view.shares == (ShareView(backend="sim", in_flight=40, window=40, wanted=TASKS),)
    assert view.in_flight == len(bench.fleet.messages) == 40


def test_a_run_beside_another_owners_has_half_of_it():
    bench, plan = alive(Bench()), measuring("a", owner="ann")
    bench.submit(plan)
    bench.state.shares.report("sim", Demand("other", "bob", wanted=500, weight=4))
    assert stuck(bench, plan).shares[0].window == 20


def test_a_run_that_is_no_longer_driven_gives_its_part_back():
    bench, plan = alive(Bench()), measuring("a")
    bench.submit(plan)
    stuck(bench, plan)
    assert bench.state.shares.demands("sim") == []


@pytest.mark.parametrize("window", [1, 7])
def test_a_window_of_its_own_holds(window: int):
    bench, plan = alive(Bench()), measuring("a")
    run = bench.submit(plan).run
    bench.state.requests.post(run, f'{{"type":"retune","changes":{{"window":{window}}}}}')
    assert stuck(bench, plan).in_flight == window


def test_a_quota_in_use_by_the_owners_other_runs_is_told_in_words():
    bench, plan = alive(Bench()), measuring("a", owner="ann")
    bench.submit(plan)
    bench.state.quotas.set("ann", max_runs=None, max_window=1)
    bench.state.shares.report("sim", Demand("older", "ann", wanted=5, weight=2))
    bench.clock.now += 1
    view = stuck(bench, plan)
    assert (view.in_flight, bench.fleet.messages) == (0, [])
    assert "other runs of owner 'ann' use all that their quota allows" in view.waiting


def test_what_was_sent_in_a_larger_window_is_noticed_in_a_smaller_one():
    bench, plan = alive(Bench()), measuring("a", owner="ann")
    run = bench.submit(plan).run
    sent: list[WantedJob] = []

    def on_the_way(job: WantedJob, lane: Lane) -> str | None:
        sent.append(job)
        return "lost"

    def another_comes_and_the_last_are_done() -> None:
        bench.state.shares.report("sim", Demand("other", "bob", wanted=500, weight=4))
        if bench.doorbell.waits > 1:
            bench.stop.set()
            return
        bench.fleet.mishap = lambda job, lane: None
        for job in sent[20:]:
            bench.fleet.send(run, job, backend="sim", lane="normal")
        bench.fleet.mishap = on_the_way

    bench.fleet.mishap = on_the_way
    bench.doorbell.idle = another_comes_and_the_last_are_done
    bench.drive(run)
    view = RunView.model_validate_json(bench.state.runs.view(run) or "")
    assert view.shares == (ShareView(backend="sim", in_flight=20, window=20, wanted=40),)
    assert {job.id for job in sent[20:]} <= bench.state.runs.ledger(run).keys()
    assert len(sent) == 40, "nothing is sent while the smaller window is full"


def test_runs_of_two_owners_in_one_coordinator_both_end_exactly(tmp_path: Path):
    bench = alive(Bench(replace(TIMING, tick_s=0.01)))
    big = make_plan(
        name="big",
        mode="eval",
        eval_split="test",
        owner="ann",
        splits=Splits(test=tuple(item(f"big-{n}", "alpha") for n in range(400))),
    )
    small = measuring("small", owner="bob")
    for plan in (big, small):
        bench.submit(plan)
    assert bench.state.runs.open_runs() == [big.run_id, small.run_id]
    stop = threading.Event()
    coordinator = Coordinator(bench.state, bench.fleet, tmp_path, bench.timing)
    serving = threading.Thread(target=coordinator.serve, args=[stop])
    serving.start()
    try:
        _until(lambda: bench.known(big).finished and bench.known(small).finished)
    finally:
        stop.set()
        serving.join()
    assert len(bench.fleet.executed) == len(set(bench.fleet.executed)) == 400 + TASKS


def test_coordinators_take_up_a_run_that_is_resumed_by_a_request(tmp_path: Path):
    bench, plan = alive(Bench(replace(TIMING, tick_s=0.01))), measuring("a")
    bench.submit(plan)
    pause_run(bench.state, plan.run_id, plan, wait=bench._wait)
    stop = threading.Event()
    coordinator = Coordinator(bench.state, bench.fleet, tmp_path, bench.timing)
    serving = threading.Thread(target=coordinator.serve, args=[stop])
    serving.start()
    try:
        assert bench.known(plan).status == "paused"
        assert resume_run(bench.state, plan.run_id, plan, wait=time.sleep).outcome == "done"
        _until(lambda: bench.known(plan).finished)
    finally:
        stop.set()
        serving.join()


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited for a minute"
        time.sleep(0.01)
