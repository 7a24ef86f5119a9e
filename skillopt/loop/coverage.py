"""Is enough of a measurement there to go on with?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skillopt.domain.measurement import Measurement
from skillopt.domain.run import RunState
from skillopt.domain.steering_events import Paused

#: Tasks named in a message about missing results.
NAMED_TASKS = 5
#: Reasons given in it, each once.
_NAMED_REASONS = 2


def too_little(
    state: RunState,
    measurement: Measurement,
    stage: str,
    *,
    may_be_empty: bool = False,
    invalid_because: Callable[[], Sequence[str]] = tuple,
) -> Paused | None:
    """Give the pause that names the missing tasks, or None if the run may go on.

    `may_be_empty`: nothing needs to be scored as long as nothing is missing. Where every task is
    invalid a retry brings nothing, so a run must not wait for one unless it cannot go on at all;
    `invalid_because` is asked then.
    """
    least = state.plan.settings.evaluation.min_coverage
    if measurement.n and measurement.completeness >= least:
        return None
    missing = [item for item, score in measurement.items.items() if score.status == "missing"]
    if may_be_empty and not missing:
        return None
    if not missing:
        detail = f"{stage}: every item is invalid or left out, none has a score"
        if reasons := list(dict.fromkeys(invalid_because()))[:_NAMED_REASONS]:
            detail += f": {'; '.join(reasons)}; mend it, or let `--cache refresh` try anew"
        return Paused(why="coverage", detail=detail)
    named = ", ".join(missing[:NAMED_TASKS])
    more = f" and {len(missing) - NAMED_TASKS} more" if len(missing) > NAMED_TASKS else ""
    why = "; ".join(sorted(set(state.given_up.values()))[:_NAMED_REASONS])
    detail = (
        f"{stage}: {len(missing)} of {len(measurement.items)} items have no score "
        f"({named}{more}); min_coverage is {least:.0%}" + (f"; {why}" if why else "")
    )
    return Paused(why="coverage", detail=detail)
