"""The team queue on a shared Redis: everything a team asks of its runs, read and done there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from producer.control import cancel_run, pause_run, resume_run, retune_run
from producer.queue.curve_page import curve_rows
from producer.queue.documents_page import blame_rows, diff_page
from producer.queue.events_page import event_row
from producer.queue.exported import export_to
from producer.queue.fleet_page import backend_rows, worker_rows
from producer.queue.followed import FollowedRun, FollowedRuns, Sees
from producer.queue.following import follow
from producer.queue.gates_page import gate_page, gated_parts
from producer.queue.listing import RunLister
from producer.queue.models import (
    ControlReply,
    CurveRow,
    DiffPage,
    EventRow,
    FleetPage,
    GatePage,
    Quota,
    Retuning,
    RunRow,
    RunStatus,
    SpendRow,
    Tags,
)
from producer.queue.port import SpendBy
from producer.queue.recorded import RecordedRun
from producer.queue.remembered import Remembered
from producer.queue.setting import checked_limits, checked_quota
from producer.queue.spend_page import days_of, spend_rows
from producer.queue.status_page import status_of
from skillopt.errors import InputError
from skillopt.state.ports import State

RUNS = "runs"
#: Dead jobs are counted this often: every key of the server is walked through for it.
DEAD_S = 10.0
#: Gates that are kept: one that has decided does not change.
MOST_GATES = 2_000


class Submitter(Protocol):
    """Makes a run of a spec file; its coordinator may be on another machine."""

    def submit(
        self, spec: Path, tags: Tags, overrides: Sequence[str], *, owner: str, team: str
    ) -> str:
        """Create the run, or let it go on if it exists; gives its id. Raises InputError."""
        ...


@dataclass(frozen=True)
class _Kept:
    """What all callers share: folded runs, and pages that take long to make."""

    runs: FollowedRuns
    lister: RunLister
    gates: Remembered[GatePage]
    caches: Remembered[tuple[int, int]]
    dead: Remembered[int]


class RedisQueue:
    """Implements `Queue`. It may be shared by threads, and should be kept: it remembers what it
    has folded.
    """

    def __init__(
        self,
        state: State,
        store: Path,
        *,
        owner: str = "",
        team: str = "",
        sees: Sees | None = None,
        submitter: Submitter | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Open the queue of a state.

        Args:
            state: the shared state.
            store: where run folders lie, if they lie on this machine.
            owner: who submits from here; "": as the spec or the environment says.
            team: likewise.
            sees: which runs are there for whoever asks; None: all.
            submitter: makes runs of spec files; None: this queue takes none.
            close: ends what was opened for this queue.
        """
        self._state = state
        self._runs_dir = store / RUNS
        self._owner, self._team, self._sees = owner, team, sees
        self._submitter = submitter
        self._close = close
        runs = FollowedRuns(state, self._runs_dir)
        self._kept = _Kept(
            runs,
            RunLister(state, runs),
            Remembered(MOST_GATES),
            Remembered(MOST_GATES),
            Remembered(1, for_s=DEAD_S),
        )

    def for_caller(self, *, owner: str, team: str, sees: Sees | None) -> RedisQueue:
        """Give the queue as somebody else sees it, with all that this one remembers."""
        queue = RedisQueue(
            self._state,
            self._runs_dir.parent,
            owner=owner,
            team=team,
            sees=sees,
            submitter=self._submitter,
        )
        queue._kept = self._kept
        return queue

    # --- runs -------------------------------------------------------------------------------

    def submit(self, spec: Path, tags: Tags, *, overrides: Sequence[str] = ()) -> RunRow:
        if self._submitter is None:
            raise InputError(
                f"{str(spec)!r} cannot be submitted here: this queue only reads; give the URL of "
                "the API or of the shared Redis"
            )
        run = self._submitter.submit(spec, tags, overrides, owner=self._owner, team=self._team)
        return self._kept.lister.row(self._kept.runs.find(run))

    def runs(
        self,
        *,
        owner: str | None = None,
        phase: str | None = None,
        labels: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        return self._kept.lister.rows(
            self._kept.runs.infos(),
            sees=self._sees,
            owner=owner,
            phase=phase,
            labels=labels or {},
            limit=limit,
        )

    def status(self, run: str) -> RunStatus:
        info = self._kept.runs.find(run, self._sees)
        known, row, view = self._kept.lister.seen(info)
        cache = (view.cache_hits, view.replies)
        if not view.replies:
            key = (known.run, known.info.created_at, known.seq)
            cache = self._kept.caches.get(key, lambda: self._cache_of(known))
        return status_of(known, row, view, cache=cache, runs_dir=self._runs_dir)

    def _cache_of(self, known: FollowedRun) -> tuple[int, int]:
        facts = self._recorded(known).facts
        return facts.cache_hits, facts.replies

    # --- control ----------------------------------------------------------------------------

    def pause(self, run: str) -> ControlReply:
        known = self._known(run)
        return pause_run(self._state, known.run, known.plan)

    def resume(self, run: str) -> ControlReply:
        known = self._known(run)
        return resume_run(self._state, known.run, known.plan)

    def cancel(self, run: str) -> ControlReply:
        known = self._known(run)
        return cancel_run(self._state, known.run, known.plan)

    def retune(self, run: str, retuning: Retuning) -> ControlReply:
        known = self._known(run)
        return retune_run(self._state, known.run, known.plan, retuning)

    # --- pages ------------------------------------------------------------------------------

    def curve(self, run: str) -> list[CurveRow]:
        return curve_rows(self._known(run).state)

    def gates(self, run: str) -> list[GatePage]:
        recorded = self._recorded(self._known(run))
        known = recorded.known
        pages = []
        for part in gated_parts(known.state):
            assert part.gated is not None
            key = (known.run, known.info.created_at, part.gated.skill, part.gated.verdict)
            pages.append(self._kept.gates.get(key, partial(gate_page, recorded, part)))
        return pages

    def diff(self, run: str, label: str = "best") -> DiffPage:
        return diff_page(self._known(run).state, label)

    def blame(self, run: str) -> list[dict[str, Any]]:
        return blame_rows(self._known(run).state)

    def records(
        self,
        run: str,
        *,
        step: int | None = None,
        task: str | None = None,
        call: str | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        recorded = self._recorded(self._known(run))
        found: list[dict[str, Any]] = []
        for record in recorded.all(step=step, task=task, call=call):
            if len(found) >= limit:
                break
            found.append(record.model_dump(mode="json"))
        return found

    def events(self, run: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        info = self._kept.runs.find(run, self._sees)
        return [event_row(entry) for entry in self._state.runs.log(info.run, after=after)[:limit]]

    def follow(self, run: str, *, after: int = 0) -> Iterator[EventRow | RunStatus]:
        found = self._kept.runs.find(run, self._sees).run
        return follow(
            self._state.doorbell,
            found,
            events=partial(self.events, found),
            status=partial(self.status, found),
            after=after,
            sleep=time.sleep,
        )

    def export(self, run: str, destination: Path, *, records: bool = True) -> dict[str, Any]:
        recorded = self._recorded(self._known(run))
        exported = export_to(recorded, self._state, destination, records=records)
        return exported.model_dump(mode="json")

    # --- the fleet --------------------------------------------------------------------------

    def fleet(self) -> FleetPage:
        open_runs = self._kept.lister.open_runs(self._kept.runs.infos())
        used = [use.backend for one in open_runs.known for use in one.plan.backends.values()]
        return FleetPage(
            backends=tuple(backend_rows(self._state, used)),
            workers=tuple(worker_rows(self._state)),
            coordinators=len(open_runs.around.coordinators),
            dead_jobs=self._kept.dead.get((), lambda: len(self._state.dead.jobs())),
            redis_memory_bytes=self._state.server.facts().used_memory,
            queued_runs=open_runs.count("queued"),
            running_runs=open_runs.count("running"),
        )

    def set_limits(self, backend: str, limits: Mapping[str, float | None]) -> None:
        self._state.limits.set(backend, checked_limits(self._state, backend, limits))

    def quotas(self) -> list[Quota]:
        return [
            Quota(owner=one.owner, max_runs=one.max_runs, max_window=one.max_window, runs=one.runs)
            for one in self._state.quotas.all()
        ]

    def set_quota(self, quota: Quota) -> None:
        checked = checked_quota(quota)
        self._state.quotas.set(
            checked.owner, max_runs=checked.max_runs, max_window=checked.max_window
        )

    def spend(self, by: SpendBy, *, since_s: float | None = None) -> list[SpendRow]:
        days = days_of(self._state, since_s)
        if self._sees is not None:
            days = [one for one in days if self._sees(one.owner, one.team)]
        return spend_rows(days, by)

    def close(self) -> None:
        self._close()

    def _known(self, run: str) -> FollowedRun:
        return self._kept.runs.of(self._kept.runs.find(run, self._sees))

    def _recorded(self, known: FollowedRun) -> RecordedRun:
        return RecordedRun(known, self._state, self._runs_dir)
