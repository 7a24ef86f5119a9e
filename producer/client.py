"""The team queue for other Python programs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from producer.queue.models import (
    ControlReply,
    EventRow,
    Priority,
    Retuning,
    RunRow,
    RunStatus,
    Tags,
)
from producer.queue.open import open_queue
from producer.queue.port import Queue

_ENDED: Final = frozenset({"finished", "cancelled"})
_LOOK_S: Final = 1.0


class Client:
    """Submits runs to a shared queue and looks after them.

    `url` is that of `skillopt serve` (with a token), or of a Redis. Without one, SKILLOPT_URL and
    SKILLOPT_TOKEN, or SKILLOPT_REDIS_URL count. A run is named by its id, a unique beginning of
    it, its name, or "last". Errors are those of `skillopt.errors`.

        with Client("https://queue.example.org", token=token) as client:
            run = client.submit("my-skill/spec.yaml", labels={"team": "docs"})
            client.wait(run.run)
            client.export(run.run, "results")
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        store: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        #: Everything that the queue can do.
        self.queue: Queue = open_queue(url, token, store, environ=environ)

    def submit(
        self,
        spec: Path | str,
        *,
        priority: Priority | None = None,
        labels: Mapping[str, str] | None = None,
        overrides: Sequence[str] = (),
    ) -> RunRow:
        """Submit a spec with its files. The same content again continues the run that it is."""
        given = {} if priority is None else {"priority": priority}
        tags = Tags.model_validate({"labels": dict(labels or {}), **given})
        return self.queue.submit(Path(spec), tags, overrides=overrides)

    def runs(
        self,
        *,
        owner: str | None = None,
        phase: str | None = None,
        labels: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        return self.queue.runs(owner=owner, phase=phase, labels=labels, limit=limit)

    def status(self, run: str = "last") -> RunStatus:
        return self.queue.status(run)

    def pause(self, run: str) -> ControlReply:
        return self.queue.pause(run)

    def resume(self, run: str) -> ControlReply:
        return self.queue.resume(run)

    def cancel(self, run: str) -> ControlReply:
        return self.queue.cancel(run)

    def retune(self, run: str, **changes: Any) -> ControlReply:  # noqa: ANN401 - keys of Retuning
        """Change budget, priority, window or stop rules of a run; None lifts a limit."""
        return self.queue.retune(run, Retuning(**changes))

    def follow(self, run: str, *, after: int = 0) -> Iterator[EventRow | RunStatus]:
        """Give events as they come, and the status whenever it changed, until the run ends."""
        return self.queue.follow(run, after=after)

    def wait(
        self,
        run: str,
        *,
        timeout_s: float | None = None,
        until: Callable[[RunStatus], bool] = lambda status: status.row.phase in _ENDED,
    ) -> RunStatus:
        """Wait until a run has ended (a paused one may go on); raises TimeoutError."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            status = self.queue.status(run)
            if until(status):
                return status
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(
                    f"run {status.row.run!r} is {status.row.phase} after {timeout_s} s: "
                    f"{status.row.words}"
                )
            time.sleep(_LOOK_S)

    def export(self, run: str, destination: Path | str, *, records: bool = True) -> dict[str, Any]:
        """Bring a run's artifacts into a new or empty folder."""
        return self.queue.export(run, Path(destination), records=records)

    def close(self) -> None:
        self.queue.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
