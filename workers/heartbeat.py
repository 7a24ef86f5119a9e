"""One thread per process that keeps its leases, its calls and its announcement alive."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from skillopt.errors import StateUnavailable
from skillopt.state.ports import RenewStatus, State, ThrottleScope, WorkerInfo
from workers.held import Held, Stop

log = logging.getLogger(__name__)


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
        self._may_announce: Callable[[], bool] = lambda: True
        #: Beats so far; when all of one last reached the state; whether the last one did not
        #: because the state is away (or full: it answers, but takes nothing).
        self.beats = 0
        self.current_at: float | None = None
        self.state_away = False
        # Reentrant: the signal that starts a drain may interrupt the thread that holds it.
        self._lock = threading.RLock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="heartbeat", daemon=True)

    def start(self, consuming: Callable[[], bool] = lambda: True) -> None:
        """Begin to beat; once is enough, however often the broker is connected anew.

        The worker is announced only while it is `consuming`: who merely lives is no help.
        """
        if self._thread.ident is None:
            self._may_announce = consuming
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
        self._beat_parts()
        self.beats += 1

    def _beat_parts(self) -> None:
        whole = True
        for part in (self._announce, self._renew_leases, self._renew_reservations):
            try:
                part()
            except StateUnavailable as error:
                # Leases outlast a few missed beats; what lapses is sent again, nothing is lost.
                log.warning("heartbeat missed: %s", error, extra={"event": "heartbeat_missed"})
                self.state_away = True
                return
            except Exception:
                # A heart that stops lets every lease lapse: one bad value must not stop it.
                log.exception("heartbeat failed", extra={"event": "heartbeat_failed"})
                whole = False
        self.state_away = False
        if whole:
            self.current_at = time.monotonic()

    def _announce(self) -> None:
        if self._may_announce():
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
