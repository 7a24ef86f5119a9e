"""Budgets of run, owner and money hold exactly, over all workers; raised, the work goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from paid_evaluation import PaidEvaluation, stats

from skillopt.domain.usage import Price, Usage, cost_micro_usd
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import Address, running

pytestmark = pytest.mark.xdist_group("e2e-budget-stops")

Make = Callable[..., PaidEvaluation]
#: All jobs of a test are under way at once.
ALL_AT_ONCE = ("--workers", "2", "--concurrency", "100")


@pytest.fixture
def simulator() -> Iterator[Address]:
    with running(SimulatorOptions(latency_s=0.1)) as address:
        yield address


@pytest.fixture
def evaluation(tmp_path: Path, redis_url: str, simulator: Address) -> Iterator[Make]:
    made: list[PaidEvaluation] = []

    def make(name: str, tasks: int, **more: Any) -> PaidEvaluation:
        made.append(PaidEvaluation(tmp_path / name, redis_url, simulator, tasks, **more))
        return made[-1]

    yield make
    for one in made:
        one.interrupt()


def test_two_hundred_jobs_at_once_make_exactly_the_calls_that_the_budget_has(
    evaluation: Make, simulator: Address
) -> None:
    run = evaluation("capped", 200, spec="budget: {max_calls: 50}")
    assert run.run(*ALL_AT_ONCE) == 3, run.result()
    assert stats(simulator)["calls"]["total"] == 50
    stopped = run.result()
    assert stopped["calls"]["total"] == 50
    assert stopped["state"] == "paused"
    assert "does not fit into budget.max_calls; raise it" in stopped["reason"]
    # Raised, it goes on: what is there is not paid again.
    assert run.run(*ALL_AT_ONCE, "--set", "budget.max_calls=200") == 0, run.result()
    assert stats(simulator)["calls"]["total"] == 200
    assert run.result()["evaluated"]["score"]["n"] == 200


def test_an_owners_cap_holds_over_all_their_runs(evaluation: Make, simulator: Address) -> None:
    owned = {"environment": {"SKILLOPT_OWNER": "alice"}}
    one = evaluation("one", 60, skill="# One\n\nWrite it down.\n", **owned)
    other = evaluation("other", 60, skill="# Other\n\nWrite it up.\n", **owned)
    one.budget("set", "owner:alice", "--max-calls", "50")
    one.start(*ALL_AT_ONCE)
    other.start(*ALL_AT_ONCE)
    assert (one.end(), other.end()) == (3, 3)
    assert stats(simulator)["calls"]["total"] == 50
    assert one.result()["calls"]["total"] + other.result()["calls"]["total"] == 50
    for run in (one, other):
        assert "what owner 'alice' may spend over all runs (--max-calls)" in run.result()["reason"]
        assert "`skillopt budget set owner:alice --max-calls …`" in run.result()["reason"]
    [alice] = one.budget("show", "--by", "owner")["budgets"]
    assert (alice["caps"]["calls"], alice["spent"]["calls"]) == (50, 50)
    assert alice["reserved"]["calls"] == 0
    one.budget("set", "owner:alice", "--max-calls", "none")
    assert one.run() == 0, one.result()
    assert other.run() == 0, other.result()
    assert stats(simulator)["calls"]["total"] == 120


def test_money_never_exceeds_its_cap_where_the_length_of_replies_is_enforced(
    evaluation: Make, simulator: Address
) -> None:
    price = Price(input=1_000, output=5_000)
    run = evaluation(
        "money",
        100,
        spec="budget: {max_usd: 6}",
        backend=", price: {input: 1000, output: 5000}, params: {max_output_tokens: 20}",
    )
    assert run.run(*ALL_AT_ONCE) == 3, run.result()
    assert "does not fit into budget.max_usd" in run.result()["reason"]
    charged = stats(simulator)["charged"]
    billed = cost_micro_usd(Usage(charged["prompt"], charged["completion"]), price)
    spent = run.result()["cost_usd"]
    assert billed <= 6_000_000
    assert spent == pytest.approx(billed / 1_000_000, abs=0.001)
    # Calls that might not have fitted beside those in flight have waited: what is left would not
    # have been enough for one more.
    assert spent > 6 - 0.35
    assert stats(simulator)["calls"]["total"] > 30


def test_an_owner_with_limited_money_needs_prices(evaluation: Make, simulator: Address) -> None:
    run = evaluation("unpriced", 2, environment={"SKILLOPT_OWNER": "alice"})
    spec = (run.folder / "spec.yaml").read_text()
    unpriced = spec.replace("kind: simulated", "kind: openai_compatible, model: sim")
    (run.folder / "spec.yaml").write_text(unpriced)
    run.budget("set", "owner:alice", "--max-usd", "2.5")
    assert run.run() == 2
    message = run.result()["error"]["message"]
    assert "owner 'alice' may spend $2.50, but backend 'sim' has no price" in message
    assert stats(simulator)["calls"]["total"] == 0
    (run.folder / "spec.yaml").write_text(
        unpriced.replace("model: sim,", "model: sim, price: subscription,")
    )
    assert run.run() == 0, run.result()
    assert run.result()["cost_usd"] is None, "not priced, which is not for nothing"
    [alice] = run.budget("show")["budgets"]
    assert (alice["spent"]["calls"], alice["spent"]["unpriced_calls"]) == (2, 2)
    assert alice["spent"]["usd"] is None
