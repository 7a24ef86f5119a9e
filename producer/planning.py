"""Planning a run: its cost by phase, what its budget buys, what its gate can see."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from skillopt.domain.backend import Backend
from skillopt.domain.media import form_of
from skillopt.domain.messages import IMAGE_TOKENS
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Budget
from skillopt.errors import InputError
from skillopt.loop.forecast import (
    ATTEMPT_OUTPUT,
    JUDGE_OUTPUT,
    OPTIMIZER_OUTPUT,
    Cost,
    Forecast,
    forecast,
    steps_within,
)
from skillopt.loop.spending import first_level, planned_gates
from skillopt.stats.power import smallest_effect

#: The chance with which the smallest effect is to be noticed.
POWER = 0.8


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PhaseCost(_Block):
    """`usd` is null if a backend in use has no price."""

    phase: str
    times: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None


class Gate(_Block):
    """What the gate can see; `smallest_effect` is null if it would never accept that reliably."""

    val_tasks: int
    samples: int
    gates: int
    significance: float | None
    level: float | None
    baseline: float
    power: float
    smallest_effect: float | None


class Ahead(_Block):
    """What `plan --json` prints."""

    run: str
    steps: int
    phases: tuple[PhaseCost, ...]
    total: PhaseCost
    budget: Budget
    #: Steps that the budget pays for before any test; null without a limit that calls use up.
    steps_in_budget: int | None
    gate: Gate
    assumptions: tuple[str, ...]


def plan_ahead(plan: RunPlan, backends: dict[str, Backend], *, baseline: float) -> Ahead:
    """Foresee a run. Raises InputError if its budget does not pay for baseline and one step."""
    amount = forecast(plan, backends)
    refuse_too_small(plan.budget, amount)
    rows = [
        ("baseline on val", 1, amount.baseline),
        ("each step", amount.steps, amount.step),
        ("end of each epoch from the second on", amount.epoch_ends, amount.epoch_end),
        ("tests of initial, best and final document", 1, amount.tests),
    ]
    return Ahead(
        run=plan.run_id,
        steps=amount.steps,
        phases=tuple(_row(n, times, c, amount) for n, times, c in rows if c.calls and times),
        total=_row("whole run", 1, amount.total, amount),
        budget=plan.budget,
        steps_in_budget=steps_within(
            amount,
            calls=plan.budget.max_calls,
            tokens=plan.budget.max_tokens,
            usd=plan.budget.max_usd,
        ),
        gate=_gate(plan, baseline),
        assumptions=(
            "every step brings a candidate, every gate looks at all its tasks, nothing is cached",
            "no retries and no repairs; an attempt is one call, two where its task has tools",
            f"an attempt writes at most {ATTEMPT_OUTPUT} tokens, an optimizer reply "
            f"{OPTIMIZER_OUTPUT}, or what max_output_tokens of the backend or of its role allows",
            *_about_judges(plan),
            *_about_pictures(plan),
        ),
    )


def _about_judges(plan: RunPlan) -> list[str]:
    if "judge" not in plan.backends:
        return []
    return [
        "an attempt at a task with a rubric is one call more, of the judge, which writes at most "
        f"{JUDGE_OUTPUT} tokens"
    ]


def _about_pictures(plan: RunPlan) -> list[str]:
    files = plan.splits.attachments.values()
    if not any(form_of(one.media_type) == "image" for one in files):
        return []
    return [f"a picture that comes with a task takes {IMAGE_TOKENS} tokens of its prompt"]


def refuse_too_small(budget: Budget, amount: Forecast) -> None:
    """Raise InputError for a budget that ends before the first step could be decided."""
    caps = (
        ("max_calls", budget.max_calls, amount.least.calls, "calls"),
        ("max_tokens", budget.max_tokens, amount.least.tokens, "tokens"),
        ("max_usd", budget.max_usd, amount.least.usd, "dollars"),
    )
    for key, cap, needed, unit in caps:
        if cap is not None and cap < needed:
            raise InputError(
                f"budget.{key}: {cap:g} {unit} do not pay for the baseline and one step, which "
                f"take up to {needed:.12g}; raise it, or use fewer tasks or samples"
            )


def _row(phase: str, times: int, cost: Cost, amount: Forecast) -> PhaseCost:
    return PhaseCost(
        phase=phase,
        times=times,
        calls=cost.calls,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        usd=cost.usd if amount.priced else None,
    )


def _gate(plan: RunPlan, baseline: float) -> Gate:
    settings, tasks = plan.settings.evaluation, len(plan.splits.val)
    level = first_level(plan)
    return Gate(
        val_tasks=tasks,
        samples=settings.samples,
        gates=planned_gates(plan),
        significance=settings.significance,
        level=level,
        baseline=baseline,
        power=POWER,
        smallest_effect=smallest_effect(tasks, settings.samples, level, baseline, POWER),
    )
