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
import uuid
from pathlib import Path

from producer.attachments import KeptAttachments
from producer.dispatch import Dispatcher
from producer.driver import Driver
from producer.mirror import FolderMirror
from producer.run_folder import RunFolder
from skillopt.config.runtime import timing
from skillopt.domain.timing import Timing
from skillopt.errors import Fenced, SkillOptError, StaleVersion, StateUnavailable
from skillopt.state.ports import State
from skillopt.state.redis.connect import connect
from skillopt.state.urls import broker_url

log = logging.getLogger(__name__)


class Coordinator:
    """Takes ownerless runs and drives each in a thread of its own."""

    def __init__(
        self, state: State, dispatcher: Dispatcher, runs_dir: Path, durations: Timing
    ) -> None:
        self._state = state
        self._dispatcher = dispatcher
        self._runs_dir = runs_dir
        self._timing = durations
        self._owner = f"{os.uname().nodename}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._threads: dict[str, threading.Thread] = {}
        self._failures: list[BaseException] = []

    def serve(self, stop: threading.Event, only: str | None = None) -> None:
        """Look for runs until told to stop. A run that cannot be driven ends the process: its
        supervisor starts it again, or reports it if that does not help.
        """
        while not stop.is_set():
            if self._failures:
                stop.set()
                break
            try:
                wanted = [only] if only else self._state.runs.open_runs()
                for run in wanted:
                    self._look_after(run, stop)
            except StateUnavailable as error:
                log.warning("state is away: %s", error, extra={"event": "state_away"})
            stop.wait(min(0.5, self._timing.tick_s))
        for thread in self._threads.values():
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _look_after(self, run: str, stop: threading.Event) -> None:
        thread = self._threads.get(run)
        if thread is not None and thread.is_alive():
            return
        info = self._state.runs.info(run)
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
            folder = RunFolder(self._runs_dir / run)
            mirror = FolderMirror(folder, self._state)
            kept = KeptAttachments(folder.path, self._state.blobs)
            try:
                Driver(lead, self._state, self._dispatcher, mirror, self._timing, kept).drive(stop)
            finally:
                self._state.runs.resign(lead)
        except (Fenced, StaleVersion) as error:
            log.warning("run left to another: %s", error, extra={"event": "fenced", "run": run})
        except StateUnavailable as error:
            log.warning("run let go: %s", error, extra={"event": "state_away", "run": run})
        except Exception as error:
            log.exception("run cannot be driven", extra={"event": "drive_failed", "run": run})
            self._failures.append(error)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m producer.coordinator", description=__doc__)
    parser.add_argument("--runs-dir", required=True, type=Path, help="where run folders live")
    parser.add_argument("--run", help="look after this run only")
    options = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    url = os.environ.get("SKILLOPT_REDIS_URL")
    if not url:
        parser.error("SKILLOPT_REDIS_URL is not set; export the URL of the shared Redis")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        durations = timing(os.environ)
        dispatcher = Dispatcher(broker_url(url))
        coordinator = Coordinator(connect(url, durations), dispatcher, options.runs_dir, durations)
        coordinator.serve(stop, options.run)
        dispatcher.close()
    except SkillOptError as error:
        log.error("%s", error)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
