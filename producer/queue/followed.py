"""Runs as their logs tell them, folded once: only what is new in a log is read again."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from producer.minutes import ActiveTime
from producer.queue.stages_line import StagesLine
from producer.run_folder import RunFolder
from producer.run_meta import owner_of, team_of
from producer.stored_log import folded
from producer.stored_plan import stored_plan
from skillopt.domain.events import Finished, decode_event
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.domain.steering_events import Cancelled, Paused
from skillopt.errors import InputError, StateCorrupt
from skillopt.loop.fold import apply
from skillopt.state.ports import LogEntry, RunInfo, State

#: Runs whose plan and state are kept: all that anybody looks at, not all there ever were.
MOST_KEPT = 128
#: Runs named where a reference does not name one.
LISTED_RUNS = 8

_RESTS = Finished | Paused | Cancelled

#: Whether runs of an owner and a team are shown to whoever asks.
Sees = Callable[[str, str], bool]


@dataclass(frozen=True)
class FollowedRun:
    """One run up to an event of its log. Nothing of it changes; a later look gives another one."""

    info: RunInfo
    plan: RunPlan
    state: RunState
    active: ActiveTime
    stages: StagesLine
    #: Entries of the log that are in it.
    seq: int
    #: When it ended or paused; None while it goes on.
    rested_at: float | None = None

    @property
    def run(self) -> str:
        return self.info.run

    def after(self, info: RunInfo, entries: Sequence[LogEntry]) -> FollowedRun:
        state, active, stages = self.state, copy.copy(self.active), self.stages
        rested_at, seq = self.rested_at, self.seq
        for entry in entries:
            event = decode_event(entry.event)
            state = apply(state, event)
            active.take(entry.at, event)
            stages = stages.after(entry.at, event)
            rested_at = entry.at if isinstance(event, _RESTS) else None
            seq = entry.seq
        return replace(
            self,
            info=info,
            state=state,
            active=active,
            stages=stages,
            seq=seq,
            rested_at=rested_at,
        )


class FollowedRuns:
    """Every run of a state. It may be shared by threads."""

    def __init__(self, state: State, runs_dir: Path) -> None:
        self._state = state
        self._runs_dir = runs_dir
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, FollowedRun] = OrderedDict()

    def infos(self, sees: Sees | None = None) -> list[RunInfo]:
        """Give every run that is seen, newest first."""
        return [info for info in self._state.runs.all() if is_seen(info, sees)]

    def find(self, reference: str, sees: Sees | None = None) -> RunInfo:
        """Find a run by id, name, unique prefix of its id, or "last" (the newest).

        Raises InputError, with the candidates, if no run that is seen, or more than one is meant.
        """
        exact = self._state.runs.info(reference) if reference else None
        if exact is not None and is_seen(exact, sees):
            return exact
        infos = self.infos(sees)
        if reference == "last" and infos:
            return infos[0]
        named = [info for info in infos if info.meta.get("name") == reference]
        named = named or [info for info in infos if reference and info.run.startswith(reference)]
        if len(named) == 1:
            return named[0]
        if not infos:
            raise InputError(f"no run {reference!r}: there is none here; submit one first")
        listed = ", ".join(info.run for info in (named or infos)[:LISTED_RUNS])
        what = f"{reference!r} means several runs" if named else f"no run {reference!r} here"
        raise InputError(f"{what}; give the id of one: {listed}")

    def of(self, info: RunInfo) -> FollowedRun:
        """Give a run as it is now.

        Raises StateCorrupt if its plan or log cannot be read (any more).
        """
        with self._lock:
            known = self._kept.get(info.run)
        if known is None or self._is_another(known, info):
            known = self._begin(info)
        elif known.seq < info.version:
            known = known.after(info, self._state.runs.log(info.run, after=known.seq))
        else:
            known = replace(known, info=info)
        with self._lock:
            self._kept[info.run] = known
            self._kept.move_to_end(info.run)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return known

    def _is_another(self, known: FollowedRun, info: RunInfo) -> bool:
        """Whether the log is not the one that was followed: the run was removed, or restored
        with less than it had. A log that is read after its run's entry may be ahead of it.
        """
        if known.info.created_at != info.created_at:
            return True
        if known.seq <= info.version:
            return False
        present = self._state.runs.info(info.run)
        return present is None or present.version < known.seq

    def _begin(self, info: RunInfo) -> FollowedRun:
        plan = self._plan(info)
        entries = self._state.runs.log(info.run)
        if not entries:
            raise StateCorrupt(
                f"the log of run {info.run!r} is empty; `skillopt restore RUN_DIR` rebuilds a run "
                "from its folder"
            )
        active, stages, rested_at = ActiveTime(), StagesLine(plan), None
        for entry in entries:
            event = decode_event(entry.event)
            active.take(entry.at, event)
            stages = stages.after(entry.at, event)
            rested_at = entry.at if isinstance(event, _RESTS) else None
        state, seq = folded(plan, entries), entries[-1].seq
        return FollowedRun(info, plan, state, active, stages, seq, rested_at)

    def _plan(self, info: RunInfo) -> RunPlan:
        plan = stored_plan(info, self._state)
        if plan is not None:
            return plan
        try:
            return RunFolder(self._runs_dir / info.run).read_plan()
        except InputError as error:
            raise StateCorrupt(
                f"the plan of run {info.run!r} is not stored any more; give its command again, "
                "which stores it anew"
            ) from error


def is_seen(info: RunInfo, sees: Sees | None) -> bool:
    return sees is None or sees(owner_of(info.meta), team_of(info.meta))
