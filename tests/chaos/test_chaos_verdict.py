"""The harness's verdicts: each thing that must hold is missed when it does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from harness.faults import Injected
from harness.schedule import Fault, Kind
from harness.verdict import Bills, judge
from harness.written import Written

from skillopt.state.ports import Amount, Spend

JOB, OTHER, RUN = "a" * 64, "b" * 64, "r-1"
WORK: Any = SimpleNamespace(runs=(SimpleNamespace(id=RUN),), jobs={JOB, OTHER})
SPEND = Spend(calls={"target": 2}, input_tokens=10, output_tokens=5, micro_usd=30, executions=2)
CHARGED = {"calls": 2, "prompt": 10, "completion": 5}


def written(**more: Any) -> Written:
    sound: dict[str, Any] = {
        "claims": Counter({JOB: 1, OTHER: 1}),
        "commits": Counter({JOB: 1, OTHER: 1}),
        "finishes": Counter({RUN: 1}),
    }
    return Written(**{**sound, **more})


def bills(spend: Spend = SPEND, shared: Spend = SPEND) -> Bills:
    return Bills({RUN: spend}, {"owner:ada": shared}, CHARGED)


def problems(
    found: Written | None = None, paid: Bills | None = None, injected: tuple[Injected, ...] = ()
) -> str:
    return "\n".join(judge(WORK, found or written(), injected, paid or bills()))


def test_a_sound_fleet_has_no_problems() -> None:
    assert not problems()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (written(commits=Counter({JOB: 2, OTHER: 1})), "committed more than once"),
        (written(waiting={JOB: {RUN}, OTHER: set()}), "1 jobs are waited for"),
        (written(commits=Counter({JOB: 1, OTHER: 1, "c": 1})), "1 jobs were committed that"),
        (written(overlaps=Counter({JOB: 1})), "taken up while another had them"),
        (written(finishes=Counter({RUN: 2})), "has 2 finish events"),
        (written(finishes=Counter()), "has 0 finish events"),
        (written(claims=Counter({JOB: 1})), "2 executions counted, 1 made"),
    ],
)
def test_what_was_written_is_judged(found: Written, said: str) -> None:
    assert said in problems(found)


def test_executions_beyond_the_slots_of_the_faults_are_too_many() -> None:
    again = written(claims=Counter({JOB: 3, OTHER: 1}))
    paid = bills(replace(SPEND, executions=4))

    def struck(slots: int) -> Injected:
        return Injected(Fault(0.5, Kind.KILL_WORKER, 0, 0.0), slots=slots)

    assert "2 executions repeated; the faults explain 1" in problems(again, paid, (struck(1),))
    assert not problems(again, paid, (struck(1), struck(1)))


def test_what_stays_reserved_is_found_at_a_run_and_at_who_pays() -> None:
    held = replace(SPEND, reserved=Amount(calls=1))
    assert f"{RUN} has something reserved" in problems(paid=bills(held))
    assert "owner:ada has something reserved" in problems(paid=bills(shared=held))


def test_a_call_that_is_billed_and_not_counted_is_found() -> None:
    assert "all runs: 1 calls counted, 2 billed" in problems(
        paid=bills(replace(SPEND, calls={"target": 1}))
    )
    assert "owner:ada: 29 micro_usd counted, 30 billed" in problems(
        paid=bills(shared=replace(SPEND, micro_usd=29))
    )
