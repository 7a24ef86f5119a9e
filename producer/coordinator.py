"""`python -m producer.coordinator`: looks after runs; any number may run, each run has one owner.

A coordinator stops at SIGTERM between two decisions and gives its runs up at once. Killed at any
moment, it loses nothing: another takes its runs over when their leases lapse.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

from producer.attachments import KeptAttachments
from producer.conclusion import conclude
from producer.dispatch import Dispatcher
from producer.driver import Driver
from producer.kept_results import KeptResults
from producer.mirror import FolderMirror
from producer.notifier import Notifier
from producer.run_folder import RunFolder
from producer.taking_over import take_over
from producer.telemetry import CoordinatorTelemetry
from producer.webhook import Webhook
from skillopt import __version__
from skillopt.config.runtime import timing
from skillopt.domain.timing import Timing
from skillopt.domain.view import RunView
from skillopt.errors import (
    Fenced,
    InputError,
    SkillOptError,
    StaleVersion,
    StateCorrupt,
    StateError,
    StateUnavailable,
)
from skillopt.health import Condition, HealthFile, keep_reporting
from skillopt.state.ports import Lead, State
from skillopt.state.redis.connect import connect
from skillopt.state.urls import broker_url
from skillopt.telemetry.endpoint import MetricsAddress, MetricsEndpoint
from skillopt.telemetry.log_lines import log_about, log_format, set_up_logging
from skillopt.telemetry.process_options import add_telemetry_options

log = logging.getLogger(__name__)

#: How long a run that cannot be read is left to others before it is looked at again.
REST_S = 60.0

#: How often a coordinator says that it is alive before it would count as gone.
ANNOUNCEMENTS_PER_TTL = 3

#: How long the last news of runs may keep a coordinator that stops.
NEWS_S = 5.0

#: The longest that one round of a run may take: the largest runs ask for very many jobs at once.
ROUND_S = 300.0

#: So many periods between two looks at its own health mean that nothing of it ran meanwhile.
UNWATCHED_PERIODS = 5


class Coordinator:
    """Takes ownerless runs and drives each in a thread of its own."""

    def __init__(
        self,
        state: State,
        dispatcher: Dispatcher,
        runs_dir: Path,
        durations: Timing,
        notifier: Notifier | None = None,
    ) -> None:
        self._state = state
        self._notifier = notifier
        self._dispatcher = dispatcher
        self._runs_dir = runs_dir
        self._timing = durations
        self._owner = f"{os.uname().nodename}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._threads: dict[str, threading.Thread] = {}
        self._drivers: dict[str, Driver] = {}
        #: When it last looked for runs; when it last said how it is; since when that is judged.
        self._turned_at = self._asked_at = self._judged_from = time.monotonic()
        self._not_ready: tuple[str, ...] = ("it is starting",)
        self._told_at = float("-inf")
        self._failures: list[BaseException] = []
        #: The one run it is here for; None if it looks after all there are.
        self._only: str | None = None
        #: Until when runs that it cannot read are left to others.
        self._rests: dict[str, float] = {}

    def serve(self, stop: threading.Event, only: str | None = None) -> None:
        """Look for runs until told to stop. A run that cannot be driven ends the process: its
        supervisor starts it again, or reports it if that does not help. One of many that cannot
        even be read (it is damaged, or of another version) is left to others instead.
        """
        self._only = only
        telling = self._tell_news(stop, only)
        while not stop.is_set():
            if self._failures:
                stop.set()
                break
            self._turned_at = time.monotonic()
            self._forget_ended()
            try:
                self._tell_alive()
                wanted = [only] if only else self._state.runs.open_runs()
                for run in wanted:
                    self._look_after(run, stop)
                self._not_ready = ()
            except StateUnavailable as error:
                self._not_ready = ("the state does not answer",)
                log.warning("state is away: %s", error, extra={"event": "state_away"})
            stop.wait(min(0.5, self._timing.tick_s))
        for thread in self._threads.values():
            thread.join()
        if telling is not None:
            telling.join(timeout=NEWS_S)
        self._tell_gone()
        if self._failures:
            raise self._failures[0]

    def condition(self) -> Condition:
        """Say how this coordinator is: whether it looks for runs, and drives those it has.

        Ask once in `health_s`: what is asked much later was stopped itself, and starts with a
        clean slate.
        """
        now, limit_s = time.monotonic(), self._timing.watchdog_s
        if now - self._asked_at > UNWATCHED_PERIODS * self._timing.health_s:
            self._judged_from = now
        self._asked_at = now
        stuck = list[str]()
        still_s = now - max(self._turned_at, self._judged_from)
        if still_s > limit_s:
            stuck.append(f"it has not looked for runs for {still_s:.0f} s")
        for run, driver in list(self._drivers.items()):
            still_s = now - max(driver.turned_at, self._judged_from)
            if still_s > max(limit_s, ROUND_S):
                stuck.append(f"run {run!r} has not moved for {still_s:.0f} s")
        return Condition(tuple(stuck), self._not_ready)

    def _tell_news(self, stop: threading.Event, only: str | None) -> threading.Thread | None:
        """Tell webhooks what happens, in a thread that nothing waits for while runs go on."""
        if self._notifier is None:
            return None
        thread = threading.Thread(
            target=self._notifier.serve, args=[stop, only], name="news", daemon=True
        )
        thread.start()
        return thread

    def _tell_alive(self) -> None:
        now = time.monotonic()
        if now - self._told_at >= self._timing.worker_ttl_s / ANNOUNCEMENTS_PER_TTL:
            self._state.fleet.announce_coordinator(self._owner)
            self._told_at = now

    def _tell_gone(self) -> None:
        try:
            self._state.fleet.retire_coordinator(self._owner)
        except StateError as error:  # it is forgotten by itself
            log.warning("not retired: %s", error, extra={"event": "state_away"})

    def _forget_ended(self) -> None:
        for run in [run for run, thread in self._threads.items() if not thread.is_alive()]:
            del self._threads[run]

    def _look_after(self, run: str, stop: threading.Event) -> None:
        if run in self._threads or time.monotonic() < self._rests.get(run, 0.0):
            return
        try:
            info = self._state.runs.info(run)
        except StateCorrupt as error:
            self._cannot_read(run, error)
            return
        if info is None or info.status != "running":
            return
        thread = threading.Thread(target=self._drive, args=[run, stop], name=f"run {run}")
        self._threads[run] = thread
        thread.start()

    def _drive(self, run: str, stop: threading.Event) -> None:
        try:
            lead = self._state.runs.lead(run, f"{self._owner}:{uuid.uuid4().hex[:8]}")
            if lead is None:
                return
            try:
                with log_about(run=run):
                    folder = RunFolder(self._runs_dir / run)
                    driver = self._driver(lead, folder)
                    self._drivers[run] = driver
                    driver.drive(stop)
                    self._sum_up(run, folder)
            finally:
                self._drivers.pop(run, None)
                self._state.runs.resign(lead)
        except (Fenced, StaleVersion) as error:
            log.warning("run left to another: %s", error, extra={"event": "fenced", "run": run})
        except StateUnavailable as error:
            log.warning("run let go: %s", error, extra={"event": "state_away", "run": run})
        except (StateCorrupt, InputError) as error:
            self._cannot_read(run, error)
        except Exception as error:
            log.exception("run cannot be driven", extra={"event": "drive_failed", "run": run})
            self._failures.append(error)

    def _driver(self, lead: Lead, folder: RunFolder) -> Driver:
        take_over(lead, self._state, folder)
        return Driver(
            lead,
            self._state,
            self._dispatcher,
            FolderMirror(folder, self._state),
            self._timing,
            KeptAttachments(folder.path, self._state.blobs),
            KeptResults(folder.path, self._state),
        )

    def _sum_up(self, run: str, folder: RunFolder) -> None:
        """Write the summary of a run that has come to rest; of the one run that a command drives,
        the command does.
        """
        info = self._state.runs.info(run)
        if self._only is None and info is not None and info.status != "running":
            conclude(self._state, folder.read_plan(), folder)

    def _cannot_read(self, run: str, error: StateCorrupt | InputError) -> None:
        """Refuse a run whose plan, log, ledger or folder this version cannot read, in words."""
        log.error("run not driven: %s", error, extra={"event": "unreadable", "run": run})
        if self._only is not None:
            self._failures.append(error)
            return
        self._rests[run] = time.monotonic() + REST_S
        words = f"a coordinator of version {__version__} does not drive this run: {error}"
        try:
            self._state.runs.show_view(run, RunView(waiting=words).model_dump_json())
        except StateError as untold:
            log.warning("not told: %s", untold, extra={"event": "refusal_untold", "run": run})


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m producer.coordinator", description=__doc__)
    parser.add_argument("--runs-dir", required=True, type=Path, help="where run folders live")
    parser.add_argument("--run", help="look after this run only")
    parser.add_argument(
        "--health-file",
        type=Path,
        metavar="PATH",
        help="where to say how it is; `python -m skillopt.health [--ready] PATH` asks",
    )
    add_telemetry_options(parser)
    options = parser.parse_args(argv)
    url = os.environ.get("SKILLOPT_REDIS_URL")
    if not url:
        parser.error("SKILLOPT_REDIS_URL is not set; export the URL of the shared Redis")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        set_up_logging(log_format(options.log_format))
        durations, telemetry = timing(os.environ), CoordinatorTelemetry()
        dispatcher = Dispatcher(broker_url(url))
        state = telemetry.watching(connect(url, durations))
        notifier = Notifier(state, options.runs_dir, Webhook.from_environment(os.environ))
        coordinator = Coordinator(state, dispatcher, options.runs_dir, durations, notifier)
        if options.health_file:
            _tell_health(coordinator, options.health_file, durations, stop)
        with ExitStack() as opened:
            if options.metrics_port is not None:
                address = MetricsAddress(options.metrics_port, options.metrics_host)
                opened.enter_context(MetricsEndpoint(address, telemetry.registry))
            coordinator.serve(stop, options.run)
        dispatcher.close()
    except SkillOptError as error:
        log.error("%s", error)
        return 4
    return 0


def _tell_health(
    coordinator: Coordinator, path: Path, durations: Timing, stop: threading.Event
) -> None:
    name = f"coordinator {os.uname().nodename}:{os.getpid()}"
    file = HealthFile(path, name, durations.health_stale_s)
    keep_reporting(file, coordinator.condition, durations.health_s, stop)


if __name__ == "__main__":
    sys.exit(main())
