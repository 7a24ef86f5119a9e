"""Two owners, one fleet: a small run does not wait for the end of a big one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_command import until
from paid_evaluation import stats
from team_fleet import TeamFleet

from skillopt.config.load import LoadedSpec
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import Address, running

pytestmark = pytest.mark.xdist_group("e2e-fair-shares")

BIG, SMALL = 2_000, 20
CONCURRENCY = 16


@pytest.fixture
def simulator() -> Iterator[Address]:
    with running(SimulatorOptions(latency_s=0.2)) as address:
        yield address


@pytest.fixture
def fleet(redis_url: str, simulator: Address, tmp_path: Path) -> Iterator[TeamFleet]:
    made = TeamFleet(tmp_path, redis_url, simulator, CONCURRENCY)
    yield made
    made.end()


def measured(fleet: TeamFleet, loaded: LoadedSpec) -> int:
    """Give for how many tasks a run has a score in the end."""
    [measurement] = fleet.finished(loaded).measured.values()
    return measurement.n


def test_a_small_run_after_a_big_one_of_another_owner_ends_soon_and_both_exactly(
    fleet: TeamFleet, simulator: Address
) -> None:
    warm, alone = (fleet.evaluation(name, SMALL, owner="bob") for name in ("warm", "alone"))
    big = fleet.evaluation("big", BIG, owner="ann")
    small = fleet.evaluation("small", SMALL, owner="bob")
    fleet.start(big)

    for loaded in (warm, alone):  # what starting up takes is no part of the comparison
        fleet.submit(loaded)
        assert measured(fleet, loaded) == SMALL
    fleet.submit(big)
    until(lambda: stats(simulator)["calls"]["total"] > 2 * SMALL + 100, "the big run at full speed")
    fleet.submit(small)
    assert measured(fleet, small) == SMALL
    made_by_then = stats(simulator)["calls"]["total"]
    assert fleet.known(big).status == "running", "the small run did not wait for its end"

    assert measured(fleet, big) == BIG
    assert stats(simulator)["calls"]["total"] == BIG + 3 * SMALL
    for loaded, tasks in ((alone, SMALL), (big, BIG), (small, SMALL)):
        spend = fleet.state.budgets.spend(loaded.plan.run_id)
        assert (spend.calls["target"], spend.reserved.calls) == (tasks, 0)
        assert spend.unconfirmed.calls == spend.repaid_calls == 0
    assert fleet.keys("so:wait:*") == fleet.keys("so:lease:*") == fleet.keys("so:share:*") == []
    ratio = fleet.seconds(small) / fleet.seconds(alone)
    told = f"the small run took {ratio:.2f} times as long as alone; {made_by_then} calls by then"
    print(told)  # noqa: T201 - a figure for people, which no test is to depend on
