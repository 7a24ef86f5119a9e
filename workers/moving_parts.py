"""The parts of a worker that must move on while work waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from workers.consuming import Consuming
from workers.heartbeat import Heartbeat
from workers.http_loop import HttpLoop
from workers.queue_probe import QueueProbe
from workers.watchdog import Part


@dataclass
class Turning:
    """A loop that counts its turns."""

    words: str
    turns: Callable[[], int]
    seen: int = -1

    def stands(self) -> str | None:
        before, self.seen = self.seen, self.turns()
        return self.words if self.seen == before else None


class CallLoop:
    """The event loop of the model calls. It turns only if it is asked to."""

    def __init__(self, http: HttpLoop) -> None:
        self._http = http
        self._seen = -1

    def stands(self) -> str | None:
        before, self._seen = self._seen, self._http.turns
        if not self._http.alive:
            return "the thread of the model calls is dead"
        self._http.nudge()
        if self._seen == before:
            return "the event loop of the model calls has not turned"
        return None


@dataclass(frozen=True)
class HeldJobs:
    """Jobs that ended neither by themselves nor at their deadlines."""

    heartbeat: Heartbeat

    def stands(self) -> str | None:
        now = time.monotonic()
        late = [held.job[:16] for held in self.heartbeat.held() if now > held.due_at]
        if not late:
            return None
        return f"jobs past every deadline hold their slots ({', '.join(late)})"


class OwnQueue:
    """Messages that wait although there is room for them."""

    def __init__(self, consuming: Consuming, probe: QueueProbe) -> None:
        self._consuming = consuming
        self._probe = probe
        self._seen = -1

    def stands(self) -> str | None:
        before, self._seen = self._seen, self._consuming.taken
        if self._seen != before or not self._consuming.has_room:
            return None
        waiting = self._probe.waiting
        return f"{waiting} messages wait and none was taken" if waiting else None


@dataclass(frozen=True)
class ProbeThread:
    """Without it, nobody would know what waits."""

    probe: QueueProbe

    def stands(self) -> str | None:
        return None if self.probe.alive else "the thread that looks at the queue is dead"


def parts_of(
    heartbeat: Heartbeat, http: HttpLoop, consuming: Consuming, probe: QueueProbe
) -> list[Part]:
    return [
        Turning("the consumer's loop has not turned", lambda: consuming.turns),
        Turning("the heartbeat has not beaten", lambda: heartbeat.beats),
        CallLoop(http),
        HeldJobs(heartbeat),
        OwnQueue(consuming, probe),
        ProbeThread(probe),
    ]
