from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from fleet_double import TIMING, Bench, Mirror, Trouble, decisions, undisturbed
from scripted_run import make_plan

from producer.driver import Driver
from skillopt.errors import Fenced
from skillopt.state.ports import Lead


def test_a_second_driver_takes_over_and_the_first_is_fenced():
    bench = Bench()
    plan = make_plan()
    run = bench.submit(plan).run
    bench.fleet.mishap = Trouble("lost", 99, label="step 2 / rollout")
    first = bench.driver(run, "c1")

    def take_over() -> None:
        bench.doorbell.idle = lambda: None
        bench.clock.now += TIMING.lead_s
        bench.fleet.mishap = Trouble("", 0)
        bench.drive(run, "c2")

    bench.doorbell.idle = take_over
    with pytest.raises(Fenced):
        first.drive(bench.stop)
    assert bench.known(plan).finished
    assert decisions(bench.events(run)) == undisturbed()


def test_a_driver_with_an_old_lead_writes_nothing_even_with_every_result_at_hand():
    bench = Bench()
    plan = make_plan()
    bench.run(plan)
    again = make_plan(replica=1)
    run = bench.submit(again).run
    old = bench.driver(run, "c1")
    bench.clock.now += TIMING.lead_s
    assert bench.state.runs.lead(run, "c2") is not None
    before = bench.state.runs.log(run)
    with pytest.raises(Fenced):
        old.drive(bench.stop)
    assert bench.state.runs.log(run) == before
    assert bench.state.runs.ledger(run) == {}


def test_a_driver_stopped_at_any_event_is_continued_by_another():
    plan = make_plan()
    total = len(undisturbed()) + 1
    for stop_after in range(1, total, 3):
        bench = Bench()
        run = bench.submit(plan).run

        class StoppingMirror:
            def follow(self, entries, state, facts, bench=bench, limit=stop_after):
                if len(bench.state.runs.log(plan.run_id)) == limit:
                    bench.stop.set()

        bench.mirror = StoppingMirror()
        bench.drive(run, "c1")
        bench.stop.clear()
        bench.mirror = Mirror()
        bench.drive(run, "c2")
        assert [entry.seq for entry in bench.mirror.entries] == list(range(1, total + 1))
        assert decisions(bench.events(run)) == undisturbed(), f"stopped after {stop_after} events"


def await_true(condition, what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)


@contextmanager
def lingering(bench: Bench, run: str) -> Iterator[Driver]:
    """Have a driver wait for results in a thread of its own, while its lead is renewed."""
    bench.fleet.mishap = Trouble("lost", 10**6)
    driver = bench.driver(run, "c1")
    idle, gate = threading.Event(), threading.Event()

    def linger() -> None:
        idle.set()
        gate.wait(20)

    bench.doorbell.idle = linger
    thread = threading.Thread(target=driver.drive, args=[bench.stop])
    thread.start()
    try:
        await_true(idle.is_set, "the driver to wait")
        yield driver
    finally:
        gate.set()
        thread.join(timeout=20)
    assert not thread.is_alive()


def taken_by(bench: Bench, run: str, owner: str) -> Lead:
    """Let the lead lapse between two renewals and take it."""
    found: list[Lead] = []

    def taken() -> bool:
        bench.clock.now += TIMING.lead_s + 1
        lead = bench.state.runs.lead(run, owner)
        found.extend([lead] if lead else [])
        return bool(found)

    await_true(taken, "the lead")
    return found[0]


def test_a_driver_whose_lease_was_taken_notices_by_itself_and_leaves_it_alone():
    bench = Bench(replace(TIMING, lead_renew_s=0.01))
    run = bench.submit().run
    with lingering(bench, run) as driver:
        lead = taken_by(bench, run, "c2")
        await_true(driver._lost.is_set, "the first driver to notice")
    assert bench.state.runs.lead(run, "c2") == lead


def test_a_driver_that_gets_its_lease_back_after_another_had_it_gives_it_up():
    """Its state is old: the one that led in between may have written events."""
    bench = Bench(replace(TIMING, lead_renew_s=0.01))
    run = bench.submit().run
    with lingering(bench, run) as driver:
        bench.state.runs.resign(taken_by(bench, run, "c2"))
        await_true(driver._lost.is_set, "the first driver to notice")
    assert bench.state.runs.lead(run, "c3") is not None, "nobody holds it any more"
