"""How much of a run's permitted error each gate may spend.

`evaluation.significance` bounds the chance that a run accepts anything that is no better. Every
gate that may come is planned for from the beginning, and the levels of all gates sum up to no
more than the bound. A step without a candidate leaves its share to those after it.

What that guarantees: at a gate whose candidate does no better on any task than the current
document, the chance of an acceptance is at most the gate's level, and so the chance of one in the
whole run at most `significance`. The current document's scores are those that once made it
current, so they are rather too high than too low. That regression to the mean works against later
candidates: the chance of a false acceptance is lower for it, never higher.

A forced candidate is current whatever the test says. It is tested against the best document as
well, at the same level, and only that test makes it the best one.

What it does not guarantee: that an accepted gain is as large as it was measured (it was selected
for being large; the test split gives the fair figure); that a better candidate gets past a
document that was lucky once; or the exact bound for a candidate that is better on some tasks and
worse on others by the same total, where the test is only about right, and rather strict. And it
takes whether a step brings a candidate to be independent of chance in earlier val scores.
"""

from __future__ import annotations

from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.loop.sample import total_steps


def planned_gates(plan: RunPlan) -> int:
    """Give the number of gates of a run in which every step and slow update has a candidate."""
    return total_steps(plan) + _slow_updates(plan)


def first_level(plan: RunPlan) -> float | None:
    """Give the level of a run's first gate; None without `significance`."""
    bound = plan.settings.evaluation.significance
    return None if bound is None else bound / max(1, planned_gates(plan))


def level_of(state: RunState) -> float | None:
    """Give what the gate under way may spend; None without `significance`.

    What earlier gates did not spend is shared evenly between this one and all that may follow. A
    gate that could not decide has spent nothing.
    """
    bound = state.plan.settings.evaluation.significance
    if bound is None:
        return None
    spent = sum(gated.level or 0.0 for gated in state.gates)
    ended = sum(step.ended for step in state.steps)
    ended += sum(end.slow_update_ended for end in state.epoch_ends.values())
    left = max(1, planned_gates(state.plan) - ended)
    return max(0.0, bound - spent) / left


def _slow_updates(plan: RunPlan) -> int:
    """The first epoch has none before it to be compared with."""
    settings = plan.settings
    return settings.train.num_epochs - 1 if settings.optimizer.use_slow_update else 0
