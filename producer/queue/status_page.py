"""One run in full: its line, its stage, what it has of the fleet, what a reader must know."""

from __future__ import annotations

import json
from pathlib import Path

from producer.queue.followed import FollowedRun
from producer.queue.models import BackendShare, RunRow, RunStatus
from producer.queue.rows import OPEN_PHASES
from producer.run_warnings import warnings_of
from skillopt.domain.view import RunView

#: Under which a run's entry keeps what its people were warned of, as a JSON list.
WARNINGS = "warnings"


def status_of(
    known: FollowedRun, row: RunRow, view: RunView, *, cache: tuple[int, int], runs_dir: Path
) -> RunStatus:
    """Give a run's status; `cache`: replies that others paid for, and all that it goes by."""
    state, (hits, replies) = known.state, cache
    goes_on = row.phase in OPEN_PHASES
    folder = runs_dir / known.run
    return RunStatus(
        row=row,
        stage=view.stage if goes_on else row.phase,
        stage_done=view.done if goes_on else 0,
        stage_total=view.total if goes_on else 0,
        in_flight=view.in_flight if goes_on else 0,
        shares=tuple(BackendShare(**share.model_dump()) for share in view.shares)
        if goes_on
        else (),
        cache_hits=hits,
        cache_hit_rate=hits / replies if replies else None,
        budget=state.budget.model_dump(),
        window=state.window,
        stages=known.stages.shown(_under_way(row, view)),
        warnings=(*_told_at_submission(known), *warnings_of(state)),
        left_out=dict(state.left_out),
        given_up=len(state.given_up),
        run_dir=str(folder.resolve()) if (folder / "plan.json").is_file() else None,
    )


def _told_at_submission(known: FollowedRun) -> tuple[str, ...]:
    try:
        told = json.loads(known.info.meta.get(WARNINGS, "[]"))
    except ValueError:
        return ()  # for people: a damaged entry is not worth an error
    return tuple(map(str, told)) if isinstance(told, list) else ()


def _under_way(row: RunRow, view: RunView) -> str:
    if row.phase == "paused":
        return "paused"
    return view.stage or "waiting" if row.phase in OPEN_PHASES else ""
