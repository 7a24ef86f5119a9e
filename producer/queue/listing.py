"""Lists runs fast: ended ones are summed up once, of the others only what is new is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from producer.queue.followed import FollowedRun, FollowedRuns, Sees, is_seen
from producer.queue.models import Phase, RunRow
from producer.queue.remembered import Remembered
from producer.queue.rows import positions, row_of, unreadable_row
from producer.queue.words import Surroundings, phase_of
from producer.run_meta import labels_of, owner_of
from skillopt.domain.run import ENDED
from skillopt.domain.view import RunView, read_view
from skillopt.errors import StateCorrupt
from skillopt.state.ports import RunInfo, Spend, State

#: Lines of ended runs that are kept.
MOST_ROWS = 10_000
#: What runs of a phase are stored as.
_STATUS = {"queued": "running", "running": "running"}


@dataclass(frozen=True)
class OpenRuns:
    """The runs that go on, or shall, and what is around them."""

    known: Sequence[FollowedRun]
    around: Surroundings

    def count(self, phase: Phase) -> int:
        return sum(phase_of(one, self.around) == phase for one in self.known)

    @property
    def positions(self) -> dict[str, int]:
        return positions(self.known)


class RunLister:
    """Makes the lines of runs. It may be shared by threads."""

    def __init__(self, state: State, runs: FollowedRuns) -> None:
        self._state = state
        self._runs = runs
        self._ended: Remembered[RunRow] = Remembered(MOST_ROWS)

    def rows(
        self,
        infos: Sequence[RunInfo],
        *,
        sees: Sees | None,
        owner: str | None,
        phase: str | None,
        labels: Mapping[str, str],
        limit: int,
    ) -> list[RunRow]:
        """Give the lines of all runs, in their order, that are seen and fit; at most `limit`."""
        open_runs = self.open_runs(infos)
        places = open_runs.positions
        found: list[RunRow] = []
        for info in infos:
            if len(found) >= limit:
                break
            if not is_seen(info, sees) or owner not in (None, owner_of(info.meta)):
                continue
            if not _has(info, labels):
                continue
            if phase is not None and _STATUS.get(phase, phase) != info.status:
                continue
            row = self._row(info, open_runs.around, places.get(info.run))
            if phase in (None, row.phase):
                found.append(row)
        return found

    def row(self, info: RunInfo) -> RunRow:
        """Give one run's line; that of a run that cannot be read says so."""
        open_runs = self.open_runs(self._open_infos())
        return self._row(info, open_runs.around, open_runs.positions.get(info.run))

    def seen(self, info: RunInfo) -> tuple[FollowedRun, RunRow, RunView]:
        """Give a run, its line and what its coordinator tells; raises StateCorrupt."""
        known = self._runs.of(info)
        view = self._view(info)
        open_runs = self.open_runs(self._open_infos())
        spend = self._state.budgets.spend(info.run)
        position = open_runs.positions.get(info.run)
        around = open_runs.around
        return known, row_of(known, view=view, spend=spend, around=around, position=position), view

    def open_runs(self, infos: Sequence[RunInfo]) -> OpenRuns:
        """Give those of the runs that are queued or running; one that cannot be read is not."""
        known: list[FollowedRun] = []
        for info in infos:
            if info.status != "running":
                continue
            try:
                known.append(self._runs.of(info))
            except StateCorrupt:
                continue  # its own line says why
        return OpenRuns(known, self._around([one.run for one in known]))

    def _open_infos(self) -> list[RunInfo]:
        infos = (self._state.runs.info(run) for run in self._state.runs.open_runs())
        return [info for info in infos if info is not None]

    def _around(self, runs: Sequence[str]) -> Surroundings:
        return Surroundings(
            now=self._state.server.now(),
            leaders=self._state.runs.leaders(runs),
            coordinators=self._state.fleet.coordinators(),
            served=frozenset(info.backend for info in self._state.fleet.workers()),
        )

    def _row(self, info: RunInfo, around: Surroundings, position: int | None) -> RunRow:
        key = (info.run, info.created_at, info.version)
        kept = self._ended.find(key) if info.status in ENDED else None
        if kept is not None:
            return kept
        spend = self._state.budgets.spend(info.run)
        try:
            known = self._runs.of(info)
        except StateCorrupt as error:  # which may be mended: not kept
            return unreadable_row(info, spend, str(error))
        row = self._made(known, spend, around, position)
        if known.state.status in ENDED and not spend.reserved.calls:
            self._ended.keep(key, row)
        return row

    def _made(
        self, known: FollowedRun, spend: Spend, around: Surroundings, position: int | None
    ) -> RunRow:
        view = self._view(known.info)
        return row_of(known, view=view, spend=spend, around=around, position=position)

    def _view(self, info: RunInfo) -> RunView:
        """Give what a run's coordinator told lately; of a run that rests, nothing is true now."""
        if info.status != "running":
            return RunView()
        return read_view(self._state.runs.view(info.run))


def _has(info: RunInfo, labels: Mapping[str, str]) -> bool:
    present = labels_of(info.meta)
    return all(present.get(name) == value for name, value in labels.items())
