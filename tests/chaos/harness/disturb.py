"""Disturbs one fleet by the schedule of a seed, until its work is done, and judges it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import redis

from harness.faults import Injected, Missed, inject, now
from harness.fleet import Fleet, fleet_in
from harness.report import Report, recovery_times, summed
from harness.schedule import Fault, schedule
from harness.verdict import judge, no_key_stays, orphans, same_ledgers, same_results, settle
from harness.work import Work, make_work
from harness.written import read_written

#: A fleet that is not done by then hangs.
DEADLINE_S = 85.0
TICK_S = 0.05
_AWAY = (redis.ConnectionError, redis.TimeoutError, redis.OutOfMemoryError)


class Disturbance:
    """The faults of a schedule on their way into a fleet."""

    def __init__(self, fleet: Fleet, work: Work, faults: Sequence[Fault]) -> None:
        self._fleet, self._work = fleet, work
        self._waiting = list(faults)
        self.injected: list[Injected] = []

    @property
    def missed(self) -> list[str]:
        """Name the faults that never found anything to strike."""
        return [str(fault.kind) for fault in self._waiting]

    def advance(self, share: float) -> None:
        """Strike with whatever is due and finds something to strike, or strikes again."""
        for one in self.injected:
            if one.again is not None:
                one.again()
        for fault in tuple(self._waiting):
            if fault.share > share:
                return
            try:
                self.injected.append(inject(self._fleet, self._work, fault))
            except Missed:
                continue
            self._waiting.remove(fault)

    def undo(self) -> None:
        """Undo what is over."""
        for one in self.injected:
            if one.over or now() - one.since < one.fault.lasts_s:
                continue
            try:
                self._end(one)
            except _AWAY:
                continue  # the next round tries again; another undo brings Redis back

    def end(self) -> None:
        """Undo everything, Redis first."""
        self._fleet.server.start()
        for one in self.injected:
            if not one.over:
                self._end(one)

    def _end(self, one: Injected) -> None:
        if one.undo is not None:
            one.undo()
        if one.from_undo:
            one.since = now()
        one.over = True


def run_seed(seed: int, folder: Path) -> Report:
    """Run one seed in an empty folder."""
    began = time.monotonic()
    with fleet_in(folder) as (fleet, provider_url):
        work = make_work(folder, provider_url, seed)
        disturbance = Disturbance(fleet, work, schedule(seed))
        fleet.start(work.second)
        for run in (work.second, work.measured):
            fleet.submit(run)
        fleet.give_command(work.first)
        problems = _work(fleet, work, disturbance, began)
        disturbance.end()
        if problems:
            problems.append(fleet.logs())
        forced = fleet.end()
        for run in work.runs:
            problems += same_results(fleet, run, folder / "undisturbed")
        problems += same_ledgers(fleet, work)
        bills = settle(fleet, work)
        recovery = recovery_times(disturbance.injected, fleet, work)
        problems += no_key_stays(fleet)
        fleet.server.stop()
        problems += orphans(fleet)
        written = read_written(fleet.server.aof)
        problems += judge(work, written, disturbance.injected, bills)
        return summed(
            seed,
            time.monotonic() - began,
            problems,
            injected=disturbance.injected,
            missed=disturbance.missed,
            recovery=recovery,
            written=written,
            bills=bills,
            restarts=sum(part.starts - 1 for part in fleet.parts()),
            forced=forced,
        )


def _work(fleet: Fleet, work: Work, disturbance: Disturbance, began: float) -> list[str]:
    """Keep the fleet running and disturb it until all runs have finished."""
    expected = len(work.jobs)
    while time.monotonic() - began < DEADLINE_S:
        fleet.look()
        disturbance.undo()
        try:
            disturbance.advance(fleet.committed() / expected)
            statuses = fleet.statuses(work.runs)
        except _AWAY:
            statuses = []
        if "paused" in statuses:
            return [f"a run paused: {statuses}"]
        if statuses and set(statuses) == {"finished"} and _commanded(fleet, work, disturbance):
            return []
        time.sleep(TICK_S)
    return [f"not done within {DEADLINE_S:g} s: {statuses}"]


def _commanded(fleet: Fleet, work: Work, disturbance: Disturbance) -> bool:
    """Whether the command has ended well; one that gave up is given again, as a person would."""
    command = fleet.command
    if command is None or command.running:
        return False
    command.look()
    if command.codes and command.codes[-1] == 0:
        return True
    if all(one.over for one in disturbance.injected):
        fleet.give_command(work.first)
    return False
