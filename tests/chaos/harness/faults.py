"""One way to strike for each kind of fault, and how it is undone."""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.deadly_job import DeadlyJob
from harness.fleet import CLOCK_FOLDER, SLOTS, WORKERS, Fleet
from harness.relay import Relay
from harness.schedule import Fault, Kind
from harness.supervised import Supervised
from harness.work import Work
from skillopt.wire.broker import stored_as
from skillopt.wire.tasks import queue_of

QUEUE: Final = stored_as(queue_of("sim"))
UNACKED: Final = stored_as("unacked")
MOST_MESSAGES: Final = 6
DELAY_S: Final = 0.4
HOUR_S: Final = 3600
#: Workers of the fleet, and the one of the submitting command.
ALL_SLOTS: Final = SLOTS * (len(WORKERS) + 1)


class Missed(Exception):
    """There is nothing to strike at the moment."""


@dataclass
class Injected:
    """A fault that happened."""

    fault: Fault
    #: Jobs and runs that it held up; None if that cannot be said.
    jobs: tuple[str, ...] | None = None
    runs: tuple[str, ...] | None = None
    #: Executions that it may have made worthless.
    slots: int = 0
    undo: Callable[[], None] | None = None
    #: Strikes again, whenever it can.
    again: Callable[[], None] | None = None
    #: From when on the fleet can recover (wall clock, s).
    since: float = 0.0
    #: Recovery begins when it is over, not when it strikes.
    from_undo: bool = False
    over: bool = False

    def __post_init__(self) -> None:
        self.since = self.since or now()


@dataclass(frozen=True)
class Struck:
    worker: Supervised
    relay: Relay
    jobs: tuple[str, ...]


Strike = Callable[[Fleet, Work, Fault], Injected]


def now() -> float:
    """Tell the wall clock, which is also that of Redis."""
    return time.time()  # noqa: TID251 - compared with times that Redis wrote


def inject(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    """Strike. Raises Missed if there is nothing to strike now, redis errors if it is away."""
    return STRIKES[fault.kind](fleet, work, fault)


# --- processes ------------------------------------------------------------------------------


def _worker(fleet: Fleet, fault: Fault) -> Struck:
    """Choose a worker that has something to lose."""
    up = {name: fleet.held_by(name) for name in WORKERS if fleet.workers[name].running}
    busy = [name for name, jobs in up.items() if jobs]
    if not busy:
        raise Missed
    name = busy[fault.pick % len(busy)]
    return Struck(fleet.workers[name], fleet.relays[name], up[name])


def _kill_worker(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    struck = _worker(fleet, fault)
    struck.worker.tell(signal.SIGKILL)
    return Injected(fault, jobs=struck.jobs, slots=SLOTS)


def _term_worker(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    struck = _worker(fleet, fault)
    struck.worker.tell(signal.SIGTERM)
    return Injected(fault, jobs=struck.jobs, slots=SLOTS)


def _stop_worker(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    struck = _worker(fleet, fault)
    worker, pid = struck.worker, struck.worker.pid
    worker.tell(signal.SIGSTOP)
    return Injected(fault, jobs=struck.jobs, slots=SLOTS, undo=lambda: _wake(worker, pid))


def _coordinator(fleet: Fleet, fault: Fault, work: Work) -> tuple[str, int, tuple[str, ...]]:
    """Choose a coordinator, one with a run in its hands if there is any."""
    up = {name: part.pid for name, part in fleet.coordinators.items() if part.pid is not None}
    leads = {name: fleet.led_by(pid, work.runs) for name, pid in up.items()}
    chosen = [name for name, runs in leads.items() if runs] or list(up)
    if not chosen:
        raise Missed
    name = chosen[fault.pick % len(chosen)]
    return name, up[name], leads[name]


def _kill_coordinator(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    name, pid, runs = _coordinator(fleet, fault, work)
    fleet.coordinators[name].tell(signal.SIGKILL, pid)
    return Injected(fault, runs=runs)


def _stop_coordinator(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    name, pid, runs = _coordinator(fleet, fault, work)
    part = fleet.coordinators[name]
    part.tell(signal.SIGSTOP, pid)
    return Injected(fault, runs=runs, undo=lambda: _wake(part, pid))


def _wake(part: Supervised, pid: int | None) -> None:
    """A process that is gone meanwhile needs no waking."""
    part.tell(signal.SIGCONT, pid)


def _kill_command(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    command = fleet.command
    if command is None or not command.tell(signal.SIGKILL):
        raise Missed
    # Its guard ends its worker: those jobs are lost like those of any other.
    return Injected(
        fault, runs=(work.first.id,), slots=SLOTS, undo=lambda: fleet.give_command(work.first)
    )


def _clock(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    """Start a worker again with a clock that is off from then on."""
    struck = _worker(fleet, fault)
    env = struck.worker.env
    path = os.pathsep.join(filter(None, (str(CLOCK_FOLDER), env.get("PYTHONPATH"))))
    offset = HOUR_S if fault.pick % 2 else -HOUR_S
    struck.worker.env = {**env, "PYTHONPATH": path, "CHAOS_CLOCK_OFFSET_S": str(offset)}
    struck.worker.tell(signal.SIGTERM)
    return Injected(fault, jobs=struck.jobs, slots=SLOTS)


def _poison(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    """Let a job kill whoever takes it up, until only the quarantine takes it."""
    jobs = _worker(fleet, fault).jobs
    deadly = DeadlyJob(fleet, jobs[fault.pick % len(jobs)], fleet.timing.max_lost_claims)
    deadly.strike()
    slots = SLOTS * fleet.timing.max_lost_claims
    return Injected(fault, jobs=(deadly.job,), slots=slots, again=deadly.strike)


# --- Redis ----------------------------------------------------------------------------------


def _kill_redis(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    fleet.server.kill()
    return Injected(fault, slots=ALL_SLOTS, undo=fleet.server.start, from_undo=True)


def _full_redis(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    fleet.server.limit_memory(1)
    # Celery's consumers end when a write is refused, so every worker may be started anew.
    return Injected(
        fault, slots=ALL_SLOTS, undo=lambda: fleet.server.limit_memory(0), from_undo=True
    )


def _flush_broker(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    jobs = _jobs_in(fleet.server.broker.lrange(QUEUE, 0, -1))
    if not jobs:
        raise Missed
    fleet.server.broker.flushdb()
    return Injected(fault, jobs=jobs)


def _steal(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    stolen = fleet.server.broker.lpop(QUEUE, 1 + fault.pick % MOST_MESSAGES)
    if not stolen:
        raise Missed
    return Injected(fault, jobs=_jobs_in(stolen))


def _duplicate(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    """Publish copies of messages that wait, and of messages whose jobs are being run."""
    waiting: Any = fleet.server.broker.lrange(QUEUE, 0, MOST_MESSAGES)
    taken: Any = fleet.server.broker.hvals(UNACKED)
    running = [json.dumps(json.loads(entry)[0]) for entry in taken[:MOST_MESSAGES]]
    if not waiting and not running:
        raise Missed
    fleet.server.broker.lpush(QUEUE, *waiting, *running)
    return Injected(fault)


def _jobs_in(messages: Any) -> tuple[str, ...]:
    bodies = (json.loads(base64.b64decode(json.loads(message)["body"])) for message in messages)
    return tuple(dict.fromkeys(str(body[0][0]["job"]) for body in bodies))


# --- the way to Redis -----------------------------------------------------------------------


def _half_open(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    struck = _worker(fleet, fault)
    struck.relay.half_open()
    return Injected(fault, jobs=struck.jobs, slots=SLOTS, undo=struck.relay.heal)


def _cut(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    struck = _worker(fleet, fault)
    struck.relay.cut()
    return Injected(fault, jobs=struck.jobs, slots=SLOTS)


def _delay(fleet: Fleet, work: Work, fault: Fault) -> Injected:
    struck = _worker(fleet, fault)
    struck.relay.delay(DELAY_S)
    return Injected(fault, jobs=struck.jobs, slots=SLOTS, undo=lambda: struck.relay.delay(0.0))


STRIKES: Final[Mapping[Kind, Strike]] = {
    Kind.KILL_WORKER: _kill_worker,
    Kind.KILL_COORDINATOR: _kill_coordinator,
    Kind.KILL_COMMAND: _kill_command,
    Kind.STOP_WORKER: _stop_worker,
    Kind.STOP_COORDINATOR: _stop_coordinator,
    Kind.TERM_WORKER: _term_worker,
    Kind.KILL_REDIS: _kill_redis,
    Kind.FULL_REDIS: _full_redis,
    Kind.FLUSH_BROKER: _flush_broker,
    Kind.STEAL: _steal,
    Kind.DUPLICATE: _duplicate,
    Kind.HALF_OPEN: _half_open,
    Kind.CUT: _cut,
    Kind.DELAY: _delay,
    Kind.CLOCK: _clock,
    Kind.POISON: _poison,
}
