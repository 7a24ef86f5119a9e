"""Whether a run's gates can accept anything at all under the error that it permits."""

from __future__ import annotations

from skillopt.domain.plan import RunPlan
from skillopt.loop.spending import first_level, planned_gates
from skillopt.stats.paired import least_p, needed_to_differ


def never_significant(plan: RunPlan) -> list[str]:
    """Warn if even a candidate that is better on every val task would not pass a gate."""
    level, tasks = first_level(plan), len(plan.splits.val)
    if level is None or least_p(tasks) <= level:
        return []
    significance = plan.settings.evaluation.significance
    return [
        f"evaluation.significance: {significance!r} spread over {planned_gates(plan)} gates "
        f"leaves each {level:.2g}, but even a gain on all {tasks} val tasks has a p-value of "
        f"{least_p(tasks):.2g}: nothing can be accepted; give at least {needed_to_differ(level)} "
        "val tasks, plan fewer steps, or raise it"
    ]
