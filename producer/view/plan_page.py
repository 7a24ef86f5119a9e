"""A run foreseen, for people."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.planning import Ahead, Gate, PhaseCost
from producer.view import numbers
from producer.view.printable import safe
from producer.view.stages import budget_words


def plan_page(ahead: Ahead) -> list[RenderableType]:
    """Give what a run costs at most, what its budget buys and what its gate can see."""
    table = Table(box=None, pad_edge=False)
    for name in ("phase", "times", "calls", "input tokens", "output tokens", "money"):
        table.add_column(name, justify="left" if name == "phase" else "right")
    for row in (*ahead.phases, ahead.total):
        table.add_row(*_cells(row), style="bold" if row is ahead.total else None)
    parts: list[RenderableType] = [
        Text(f"At most, for {ahead.run}:", style="bold"),
        table,
        safe(f"budget: {budget_words(ahead.budget)}{_bought(ahead)}"),
        *_gate(ahead.gate),
    ]
    return [*parts, *(safe(f"assumed: {text}", "dim") for text in ahead.assumptions)]


def _cells(row: PhaseCost) -> list[str]:
    money = numbers.NOT_PRICED if row.usd is None else numbers.dollars(row.usd)
    figures = (row.times, row.calls, row.input_tokens, row.output_tokens)
    return [row.phase, *(f"{figure:,}" for figure in figures), money]


def _bought(ahead: Ahead) -> str:
    if ahead.steps_in_budget is None:
        return f"; the run takes {numbers.plural(ahead.steps, 'step')}"
    steps = numbers.plural(ahead.steps, "step")
    return f"; it pays for {ahead.steps_in_budget} of {steps}, tests come after"


def _gate(gate: Gate) -> list[Text]:
    tasks = numbers.plural(gate.val_tasks, "val task")
    samples = numbers.plural(gate.samples, "sample")
    rule = "any higher mean is accepted"
    if gate.level is not None:
        rule = (
            f"significance {gate.significance:g} over {numbers.plural(gate.gates, 'gate')}, "
            f"{gate.level:.3g} for the first"
        )
    lines = [safe(f"gate: {tasks}, {samples} of each; {rule}")]
    if gate.smallest_effect is None:
        text = (
            f"no improvement is large enough to be accepted in {gate.power:.0%} of cases from a "
            f"pass rate of {gate.baseline:g}; add val tasks or raise evaluation.samples"
        )
        return [*lines, safe(text, "yellow")]
    text = (
        f"smallest detectable effect: a pass rate of {gate.baseline:g} must rise by "
        f"{gate.smallest_effect:.3f} to be accepted in {gate.power:.0%} of cases"
    )
    return [*lines, safe(text)]
