"""How long a fleet takes to recover at the durations that people get."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from harness.fleet import WORKERS, Fleet, fleet_in, until
from harness.work import Run, make_measurement
from skillopt.domain.timing import Timing

T = TypeVar("T")

#: All durations of a team, but the last one, which says how long the end of this program takes.
UNSCALED = {"SKILLOPT_TIMING": "team", "SKILLOPT_TIMING_DRAIN_S": "2"}
LATENCY_S = 1.5
COPIES = 60
DOWN_S = 1.0
SLOW_S = 120.0


@dataclass(frozen=True)
class Figure:
    what: str
    seconds: float
    limit_s: float

    @property
    def passed(self) -> bool:
        return self.seconds <= self.limit_s

    def text(self) -> str:
        said = "" if self.passed else "  TOO SLOW"
        return f"  {self.what:<58} {self.seconds:5.1f} s of {self.limit_s:g} s{said}"


def run_defaults(folder: Path) -> list[Figure]:
    """Disturb a fleet at default settings, one fault after another."""
    with fleet_in(folder, UNSCALED, latency_s=LATENCY_S, latency_sigma=0.2) as (fleet, url):
        assert fleet.timing.lease_s == Timing().lease_s, "these are not the default durations"
        run = make_measurement(folder, url, "defaults", COPIES)
        fleet.start(run)
        fleet.submit(run)
        _wait(fleet, lambda: fleet.committed() > 0, "the first result")
        return [
            _worker(fleet),
            _coordinator(fleet, run),
            *_redis(fleet),
        ]


def _worker(fleet: Fleet) -> Figure:
    name = WORKERS[0]
    held = _wait(fleet, lambda: fleet.held_by(name), "a job in the hands of a worker")
    fleet.workers[name].tell(signal.SIGKILL)
    began = time.monotonic()
    _wait(fleet, lambda: fleet.results().issuperset(held), "the results of a killed worker")
    return Figure("kill -9 of a worker: its jobs have results", _since(began), 45.0)


def _coordinator(fleet: Fleet, run: Run) -> Figure:
    pids = {part.pid: part for part in fleet.coordinators.values() if part.pid is not None}
    [leading] = [pid for pid in pids if fleet.led_by(pid, (run,))]
    pids[leading].tell(signal.SIGKILL)
    began, seen = time.monotonic(), _ledger(fleet, run)
    _wait(fleet, lambda: _ledger(fleet, run) > seen, "the next entry of the ledger")
    return Figure("kill -9 of the coordinator: the run goes on", _since(began), 20.0)


def _redis(fleet: Fleet) -> list[Figure]:
    before = set(fleet.leases())
    known = fleet.results()
    fleet.server.kill()
    time.sleep(DOWN_S)
    fleet.server.start()
    began = time.monotonic()
    _wait(fleet, lambda: fleet.results() > known, "the next result")
    first = _since(began)
    _wait(fleet, lambda: fleet.results() - known - before, "the result of a new job")
    what = "kill -9 and restart of Redis:"
    return [
        Figure(f"{what} work in flight is committed", first, 10.0),
        Figure(f"{what} new work is taken up and committed", _since(began), 10.0),
    ]


def _wait(fleet: Fleet, condition: Callable[[], T], what: str) -> T:
    return until(condition, what, SLOW_S, fleet.look)


def _since(began: float) -> float:
    return time.monotonic() - began


def _ledger(fleet: Fleet, run: Run) -> int:
    return len(fleet.state.runs.ledger(run.id))
