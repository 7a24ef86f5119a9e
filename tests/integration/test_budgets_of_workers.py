"""Budgets under real workers: kills, lost answers, a payer that has nothing left."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from worker_fleet import KEY, RUN, WorkerFleet, until

from skillopt.domain.backend import Backend, Params
from skillopt.domain.results import Receipt
from skillopt.domain.usage import Price, Usage, cost_micro_usd
from skillopt.loop.jobs import WantedJob
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running
from skillopt.state.ports import Amount, Caps, Lead, Refusal, Scope, Spend, Want, WantStatus

MakeFleet = Callable[..., WorkerFleet]
PRICE = Price(input=10, output=40)
ALICE = Scope("owner", "alice")


class PricedFleet(WorkerFleet):
    """A fleet whose backend has a price and limits its replies."""

    def make_backend(self) -> Backend:
        limits = {"price": PRICE, "params": Params(max_output_tokens=200)}
        return super().make_backend().model_copy(update=limits)


@pytest.fixture
def make_fleet(redis_url: str, tmp_path: Path) -> Iterator[MakeFleet]:
    with ExitStack() as opened:

        def make(**simulator: Any) -> WorkerFleet:
            options = SimulatorOptions(**{"api_key": KEY, **simulator})
            fleet = PricedFleet(redis_url, tmp_path, opened.enter_context(running(options)))
            opened.callback(fleet.close)
            return fleet

        yield make


def counted(spend: Spend) -> Amount:
    """Give all that a budget counts against its caps, besides what is reserved."""
    return Amount(
        calls=sum(spend.calls.values()),
        tokens=spend.input_tokens + spend.output_tokens + spend.unconfirmed.tokens,
        micro_usd=spend.micro_usd + spend.unconfirmed.micro_usd,
    )


def charged(fleet: WorkerFleet) -> Amount:
    """Give what the provider bills, by its own count."""
    bill = fleet.stats()["charged"]
    usage = Usage(bill["prompt"], bill["completion"])
    return Amount(bill["calls"], usage.total_tokens, cost_micro_usd(usage, PRICE))


def covers(ours: Amount, theirs: Amount) -> bool:
    return (
        ours.calls >= theirs.calls
        and ours.tokens >= theirs.tokens
        and ours.micro_usd >= theirs.micro_usd
    )


def alice(fleet: WorkerFleet) -> Spend:
    [only] = fleet.state.budgets.shared()
    assert only.scope == ALICE
    return only.spend


def test_after_kills_nothing_is_reserved_and_all_that_was_charged_is_counted(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(latency_s=600.0)
    fleet.state.budgets.join(RUN, owner="alice")
    jobs = [fleet.rollout(number) for number in range(8)]
    killed = [fleet.start("1"), fleet.start("2")]
    for job in jobs:
        fleet.ask_for(job)
    fleet.in_flight(8)
    assert fleet.spend().reserved.calls == 8
    for worker in killed:
        worker.tell(signal.SIGKILL)
        worker.exit_code()
    fleet.control(latency_s=0)
    fleet.start("3")
    for job in jobs:
        fleet.brought(job)
    until(lambda: fleet.spend().reserved == Amount(), "the lapse of the reservations")
    until(lambda: alice(fleet).reserved == Amount(), "their lapse with the owner")
    bill = charged(fleet)
    assert bill.calls == 16, "the provider began an answer to every call"
    assert fleet.spend().unconfirmed.calls == 8
    for spend in (fleet.spend(), alice(fleet)):
        assert counted(spend).calls == 16
        assert covers(counted(spend), bill)


def test_answers_that_do_not_arrive_are_counted_as_they_may_be_billed(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(seed=3, drop_rate=0.3, error_rate=0.2)
    fleet.start(
        concurrency=16, SKILLOPT_TIMING_BREAKER_FAILURES="1000", SKILLOPT_RETRY_BASE_S="0.01"
    )
    jobs = [fleet.rollout(number) for number in range(16)]
    for job in jobs:
        fleet.ask_for(job)
    for job in jobs:
        fleet.brought(job)
    until(lambda: fleet.spend().reserved == Amount(), "the end of all calls")
    spend, seen = fleet.spend(), fleet.stats()
    assert counted(spend).calls == seen["calls"]["total"]
    assert seen["by_status"]["dropped"] > 0
    assert seen["by_status"]["500"] > 0
    assert spend.unconfirmed.calls == seen["by_status"]["dropped"], "and not the server's errors"
    assert covers(counted(spend), charged(fleet))
    # What did arrive is settled by the provider's own count.
    assert spend.input_tokens + spend.output_tokens == sum(seen["tokens"].values())


def test_a_call_cut_by_a_drain_is_counted_as_it_may_be_billed(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(latency_s=600.0)
    worker = fleet.start(SKILLOPT_TIMING_DRAIN_S="0.5")
    fleet.ask_for(fleet.rollout())
    fleet.in_flight()
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() == 0
    spend = fleet.spend()
    assert (spend.reserved, spend.unconfirmed.calls) == (Amount(), 1)
    assert covers(counted(spend), charged(fleet))


def test_a_payer_that_has_nothing_left_strands_nobody_who_waits_for_the_same_jobs(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet()
    fleet.state.budgets.set_caps(RUN, Caps(calls=3))
    fleet.state.runs.create("rich", meta={}, events=[], status="running")
    rich = fleet.state.runs.lead("rich", "test-rich")
    assert rich is not None
    jobs = [fleet.rollout(number) for number in range(12)]
    for job in jobs:
        fleet.ask_for(job)  # every message names the run with three calls left
    for job in jobs:
        assert _want(fleet, rich, job) is WantStatus.QUEUED, "the rich run sends none of its own"
    fleet.start()
    until(
        lambda: all(_brought_for(fleet, rich, job) for job in jobs), "all results", *fleet.workers
    )
    assert fleet.stats()["calls"]["total"] == len(jobs)
    poor, paid = fleet.spend(), fleet.state.budgets.spend("rich")
    assert (poor.calls["target"], paid.calls["target"]) == (3, 9)
    assert poor.refused == Refusal(Scope("run", RUN), "calls")
    assert paid.refused is None
    assert {Receipt.model_validate_json(fleet.result(job).receipt).calls for job in jobs} == {1}


def _want(fleet: WorkerFleet, lead: Lead, job: WantedJob) -> WantStatus:
    [answer] = fleet.state.board.want(lead, [Want(job.id, job.spec.encoded)], room=99)
    return answer.status


def _brought_for(fleet: WorkerFleet, lead: Lead, job: WantedJob) -> bool:
    """Do what a coordinator does each tick; say whether the result is there."""
    status = _want(fleet, lead, job)
    if status is WantStatus.SEND:
        fleet.dispatcher.send(lead.run, job, backend="sim", lane="normal")
    return status is WantStatus.HIT
