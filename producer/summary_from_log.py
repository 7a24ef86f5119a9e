"""The summary of a run whose folder has none yet: all but what it spent."""

from __future__ import annotations

from producer.minutes import active_seconds
from producer.run_folder import RunFolder
from producer.summary import Summary, summarize
from skillopt.domain.run import RunState
from skillopt.state.ports import Spend


def summary_from_log(folder: RunFolder, state: RunState) -> Summary:
    """Summarize a run from its log alone; calls, tokens and cost in it mean nothing."""
    return summarize(
        state,
        skill="",
        spend=Spend(),
        cache_hits=0,
        seconds=active_seconds(folder.read_entries()),
        run_dir=str(folder.path.resolve()),
        priced=False,
    )
