"""Tells webhooks what happens to runs: at least once, and without ever disturbing a run.

What was told is marked in the shared state only afterwards, so whatever is killed, another
coordinator tells it again. A webhook that does not answer is tried again, ever more rarely, for a
day.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from pydantic import ValidationError

from producer.news import NewsDesk
from producer.queue.followed import FollowedRuns
from producer.webhook import News, NotDelivered
from skillopt.domain.notices import Notify
from skillopt.domain.run import ENDED
from skillopt.errors import SkillOptError
from skillopt.state.ports import RunInfo, State, WatchedRun

log = logging.getLogger(__name__)

#: How often runs are looked at.
LOOK_S: Final = 2.0
#: The first and the longest wait after a failure.
FIRST_WAIT_S: Final = 5.0
LONGEST_WAIT_S: Final = 600.0
#: News that nobody wanted for so long are let go.
GIVE_UP_S: Final = 86_400.0


class Poster(Protocol):
    def post(self, url: str, news: News, *, now: Callable[[], float]) -> None:
        """Raises NotDelivered."""
        ...


@dataclass(frozen=True)
class _Waiting:
    failures: int
    until: float


class Notifier:
    """Looks at the runs that are watched; for a thread of its own in each coordinator."""

    def __init__(
        self,
        state: State,
        runs_dir: Path,
        poster: Poster,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._state = state
        self._runs = FollowedRuns(state, runs_dir)
        self._poster = poster
        self._monotonic = monotonic
        self._owner = uuid.uuid4().hex
        self._waiting: dict[str, _Waiting] = {}

    def serve(self, stop: threading.Event, only: str | None = None) -> None:
        """Tell news until `stop`; once more then, for what happened last. `only`: of one run."""
        while not stop.wait(LOOK_S):
            self.look(only)
        self.look(only)

    def look(self, only: str | None = None) -> None:
        """Tell what there is to tell now."""
        try:
            runs = self._state.notices.runs()
        except SkillOptError as error:
            log.warning("news are not told: %s", error, extra={"event": "state_away"})
            return
        for run in runs:
            if only in (None, run):
                self._look_at(run)

    def _look_at(self, run: str) -> None:
        waiting = self._waiting.get(run)
        if waiting is not None and self._monotonic() < waiting.until:
            return
        try:
            self._tell(run)
        except NotDelivered as error:
            failures = 1 if waiting is None else waiting.failures + 1
            wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (failures - 1))
            self._waiting[run] = _Waiting(failures, self._monotonic() + wait_s)
            log.warning(
                "the webhook of run %s did not take its news (%s); again in %.0f s",
                run, error, wait_s, extra={"event": "webhook_failed", "run": run},
            )  # fmt: skip
        except SkillOptError as error:
            # The run cannot be read, or the state is away: its coordinator says more.
            log.warning("news of %s: %s", run, error, extra={"event": "news_failed", "run": run})
        else:
            self._waiting.pop(run, None)

    def _tell(self, run: str) -> None:
        watched, info = self._state.notices.get(run), self._state.runs.info(run)
        if watched is None or info is None:
            self._state.notices.unwatch(run)
            return
        target = _target(watched.target)
        if target is None or target.webhook is None:
            self._state.notices.unwatch(run)
            return
        is_over = info.status in ENDED
        if not is_over and info.version <= watched.cursor and "budget" not in target.on:
            return
        if not self._state.notices.take(run, self._owner):
            return
        self._tell_all(info, watched, target, target.webhook)
        if is_over:
            self._state.notices.unwatch(run)

    def _tell_all(self, info: RunInfo, watched: WatchedRun, target: Notify, url: str) -> None:
        known, run, now = self._runs.of(info), info.run, self._state.server.now()
        desk = NewsDesk(known, self._state.budgets.spend(run))
        if "budget" in target.on and info.status not in ENDED:
            for mark, news in desk.of_budget(now, watched.told):
                self._post(url, news, now)
                self._state.notices.mark(run, mark)
        for entry in self._state.runs.log(run, after=watched.cursor):
            due = desk.of_entry(entry)
            if due is not None and due.kind in target.on:
                self._post(url, due, now)
            self._state.notices.advance(run, entry.seq)

    def _post(self, url: str, news: News, now: float) -> None:
        try:
            self._poster.post(url, news, now=lambda: now)
        except NotDelivered as error:
            if now - news.at < GIVE_UP_S:
                raise
            log.warning("news %s are let go: %s", news.id, error, extra={"event": "news_let_go"})


def _target(stored: str) -> Notify | None:
    try:
        return Notify.model_validate_json(stored)
    except ValidationError as error:
        log.warning("whom to tell is not understood: %s", error, extra={"event": "news_failed"})
        return None
