"""A cancelled run stops paid calls, and leaves nothing that no other run needs."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_command import until
from paid_evaluation import stats
from team_fleet import TeamFleet

from producer.control import cancel_run
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import Address, running

pytestmark = pytest.mark.xdist_group("e2e-cancel")

CONCURRENCY = 8
#: No call of these tests ends by itself while they run.
LATENCY_S = 600.0


@pytest.fixture
def simulator() -> Iterator[Address]:
    with running(SimulatorOptions(latency_s=LATENCY_S)) as address:
        yield address


@pytest.fixture
def fleet(redis_url: str, simulator: Address, tmp_path: Path) -> Iterator[TeamFleet]:
    made = TeamFleet(tmp_path, redis_url, simulator, CONCURRENCY)
    yield made
    made.end()


def quick(simulator: Address) -> None:
    """Let later calls be answered at once."""
    request = urllib.request.Request(f"{simulator.root_url}/control", b'{"latency_s": 0}')
    with urllib.request.urlopen(request, timeout=10):
        pass


def test_cancelling_cuts_the_calls_in_flight_and_leaves_nothing(
    fleet: TeamFleet, simulator: Address
) -> None:
    big = fleet.evaluation("big", 50, owner="ann")
    run = big.plan.run_id
    fleet.start(big)
    fleet.submit(big)
    fleet.calls_in_flight(CONCURRENCY)
    assert fleet.keys("so:wait:*")

    assert cancel_run(fleet.state, run, big.plan).outcome == "done"
    until(lambda: stats(simulator)["in_flight"] == 0, "the end of the calls in flight", 15)
    until(lambda: not fleet.keys("so:lease:*"), "the end of the leases", 15)
    until(lambda: fleet.state.budgets.spend(run).reserved.calls == 0, "no reservation", 15)
    assert fleet.known(big).status == "cancelled"
    assert fleet.keys("so:wait:*") == fleet.keys("so:share:*") == []
    made = stats(simulator)["calls"]["total"]
    assert made == CONCURRENCY
    spend = fleet.state.budgets.spend(run)
    assert spend.unconfirmed.calls == CONCURRENCY, "cut off, and perhaps billed"

    # The messages that lay in the queue are used up without a call; another run is served.
    quick(simulator)
    other = fleet.evaluation("other", 5, owner="bob")
    fleet.submit(other)
    fleet.finished(other)
    assert stats(simulator)["calls"]["total"] == made + 5

    # Submitting it again goes on with it.
    fleet.submit(big)
    [measurement] = fleet.finished(big).measured.values()
    assert measurement.n == 50
    assert fleet.keys("so:wait:*") == fleet.keys("so:lease:*") == []


def test_what_another_run_waits_for_is_not_cut(fleet: TeamFleet, simulator: Address) -> None:
    mine = fleet.evaluation("mine", CONCURRENCY, owner="ann")
    theirs_plan = mine.plan.model_copy(update={"name": "theirs", "owner": "bob"})
    fleet.start(mine)
    fleet.submit(mine)
    fleet.calls_in_flight(CONCURRENCY)
    shared = fleet.keys("so:lease:*")
    fleet.submit_plan(theirs_plan)
    until(lambda: len(fleet.waiters(theirs_plan.run_id)) == CONCURRENCY, "both wait for them")

    assert cancel_run(fleet.state, mine.plan.run_id, mine.plan).outcome == "done"
    assert fleet.waiters(mine.plan.run_id) == []
    fleet.beats(2)
    assert fleet.keys("so:lease:*") == shared
    assert stats(simulator)["in_flight"] == CONCURRENCY
    assert stats(simulator)["calls"]["total"] == CONCURRENCY
    assert cancel_run(fleet.state, theirs_plan.run_id, theirs_plan).outcome == "done"
    until(lambda: stats(simulator)["in_flight"] == 0, "the end of the calls in flight", 15)
    assert fleet.keys("so:wait:*") == []
