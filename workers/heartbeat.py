"""One thread per process that keeps its leases, its calls and its announcement alive."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from skillopt.errors import StateUnavailable
from skillopt.state.ports import RenewStatus, State, ThrottleScope, WorkerInfo

log = logging.getLogger(__name__)


class Stop(StrEnum):
    """Why a job is told to stop."""

    LOST = "lost"
    ABANDONED = "abandoned"
    DRAINING = "draining"


@dataclass
class Held:
    """A job this process works on."""

    job: str
    owner: str
    run: str
    #: Calls in flight: each has a reservation and a slot of this name.
    reservations: set[str] = field(default_factory=set)
    stop: Stop | None = None
    #: Set together with `stop`; waiting on it is how a job sleeps.
    stopped: threading.Event = field(default_factory=threading.Event)
    #: Cancels the model call in flight.
    cancel: Callable[[], object] | None = None

    def wait_no_more(self) -> None:
        """Let a call in flight finish, but neither wait nor try again after it."""
        self.stopped.set()

    def tell_to_stop(self, why: Stop) -> None:
        """Stop before the next call. A call in flight is paid already: it is cut off only if
        nobody wants it or the process must go; a lost lease still lets its result be offered.
        """
        self.stop = self.stop or why
        self.stopped.set()
        if self.cancel is not None and why is not Stop.LOST:
            self.cancel()


class Heartbeat:
    """Renews everything that would lapse if this process died."""

    def __init__(
        self, state: State, info: WorkerInfo, period_s: float, scope: ThrottleScope
    ) -> None:
        self._state = state
        self._info = info
        self._scope = scope
        self._period_s = period_s
        self._held: dict[str, Held] = {}
        # Reentrant: the signal that starts a drain may interrupt the thread that holds it.
        self._lock = threading.RLock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin to beat; once is enough, however often the broker is connected anew."""
        if self._thread.ident is None:
            self._beat()
            self._thread.start()

    def end(self) -> None:
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=self._period_s)
        try:
            self._state.fleet.retire(self._info)
        except StateUnavailable:
            log.info("not retired: the state is away", extra={"event": "retire_failed"})

    def add(self, held: Held) -> None:
        """Look after a job. Claimed anew, it was lost by whoever had it here before."""
        with self._lock:
            before = self._held.get(held.job)
            self._held[held.job] = held
        if before is not None:
            before.tell_to_stop(Stop.LOST)

    def remove(self, held: Held) -> None:
        with self._lock:
            if self._held.get(held.job) is held:
                del self._held[held.job]

    def held(self) -> list[Held]:
        with self._lock:
            return list(self._held.values())

    def _loop(self) -> None:
        while not self._end.wait(self._period_s):
            self._beat()

    def _beat(self) -> None:
        for part in (self._announce, self._renew_leases, self._renew_reservations):
            try:
                part()
            except StateUnavailable as error:
                # Leases outlast a few missed beats; what lapses is sent again, nothing is lost.
                log.warning("heartbeat missed: %s", error, extra={"event": "heartbeat_missed"})
                return
            except Exception:
                # A heart that stops lets every lease lapse: one bad value must not stop it.
                log.exception("heartbeat failed", extra={"event": "heartbeat_failed"})

    def _announce(self) -> None:
        self._state.fleet.announce(self._info)

    def _renew_leases(self) -> None:
        by_job = {held.job: held for held in self.held()}
        if not by_job:
            return
        answers = self._state.claims.renew({job: held.owner for job, held in by_job.items()})
        for job, status in answers.items():
            held = by_job[job]
            if status is RenewStatus.LOST:
                held.tell_to_stop(Stop.LOST)
            elif status is RenewStatus.UNWANTED and self._state.claims.abandon(
                job, owner=held.owner
            ):
                held.tell_to_stop(Stop.ABANDONED)

    def _renew_reservations(self) -> None:
        by_run: dict[str, list[str]] = {}
        for held in self.held():
            by_run.setdefault(held.run, []).extend(tuple(held.reservations))
        for run, reservations in by_run.items():
            if reservations:
                self._state.budgets.renew(run, reservations)
                self._state.throttle.renew(self._scope, reservations)
