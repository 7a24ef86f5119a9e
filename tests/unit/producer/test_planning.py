from __future__ import annotations

import pytest
from rich.console import Console
from scripted_run import make_plan

from producer.planning import plan_ahead
from producer.view.plan_page import plan_page
from skillopt.domain.backend import Backend
from skillopt.domain.spec import Budget
from skillopt.domain.usage import Price
from skillopt.errors import InputError
from skillopt.loop.forecast import forecast

BACKENDS = {
    "sim": Backend(name="sim", kind="simulated", model="sim", price=Price(input=1, output=1))
}


def page(**changes: object) -> str:
    ahead = plan_ahead(make_plan(**changes), BACKENDS, baseline=0.5)
    console = Console(width=120)
    with console.capture() as capture:
        console.print(*plan_page(ahead), sep="\n")
    return " ".join(capture.get().split())


@pytest.mark.parametrize("key", ["max_calls", "max_tokens", "max_usd"])
def test_a_budget_below_baseline_and_one_step_is_refused_with_the_figure(key):
    least = forecast(make_plan(), BACKENDS).least
    needed = {"max_calls": least.calls, "max_tokens": least.tokens, "max_usd": least.usd}[key]
    plan = make_plan(budget=Budget.model_validate({key: type(needed)(needed * 0.5)}))
    with pytest.raises(InputError, match=rf"budget\.{key}: .*up to {needed:.12g}; raise it"):
        plan_ahead(plan, BACKENDS, baseline=0.5)


def test_a_budget_that_just_pays_for_one_step_is_enough():
    least = forecast(make_plan(), BACKENDS).least
    ahead = plan_ahead(make_plan(budget=Budget(max_calls=least.calls)), BACKENDS, baseline=0.5)
    assert ahead.steps_in_budget == 1


def test_the_phases_add_up_to_the_whole():
    ahead = plan_ahead(make_plan(), BACKENDS, baseline=0.5)
    assert sum(phase.calls * phase.times for phase in ahead.phases) == ahead.total.calls
    assert sum(phase.usd * phase.times for phase in ahead.phases) == pytest.approx(ahead.total.usd)


def test_the_page_names_steps_calls_and_the_smallest_effect():
    text = page()
    assert "whole run" in text
    assert "smallest detectable effect: a pass rate of 0.5 must rise by" in text
    assert "the run takes 4 steps" in text


def test_a_gate_that_can_never_accept_is_called_that():
    text = page(settings={"evaluation": {"significance": 0.01}})
    assert "no improvement is large enough" in text
    assert "significance 0.01 over 4 gates" in text


def test_an_unpriced_backend_is_not_free():
    backends = {"sim": BACKENDS["sim"].model_copy(update={"price": None})}
    assert plan_ahead(make_plan(), backends, baseline=0.5).total.usd is None
