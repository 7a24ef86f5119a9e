"""Services kept running together on one machine, for as long as nobody asks to stop.

A service that dies is started again however often it dies, ever more slowly: one backend in
trouble must not take the others with it. Only a service that never comes up ends the command.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from producer.embedded.child import ChildSpec, RestartRule, end_of_log
from producer.embedded.supervisor import StopRule, Supervisor
from producer.services.pulse import Pulse
from producer.services.stop_signals import StopSignals
from skillopt.domain.timing import Timing
from skillopt.errors import EmbeddedError, StateError
from skillopt.health import complaints
from skillopt.state.ports import State
from skillopt.wire.broker import stored_as
from skillopt.wire.tasks import queue_of

log = logging.getLogger(__name__)

#: A service comes back at once the first time, within half a minute however often it dies.
RESTART: Final = RestartRule(max_delay_s=30.0, steady_s=60.0, max_deaths=1_000_000_000)
#: A service that dies this often before it was ever ready will not come up.
HOPELESS: Final = 3
READY_S: Final = 90.0
TURN_S: Final = 0.1
#: How often suspected poison is looked for.
QUARANTINE_LOOK_S: Final = 2.0
#: From the end of the drain time: until those who hang are cut, and until they are killed.
CUT_S: Final = 6.0
KILL_S: Final = 10.0


def stop_rule(durations: Timing) -> StopRule:
    """Give workers the time to finish their calls; whoever takes longer is ended."""
    drain_s = durations.drain_s
    return StopRule(quit_after_s=drain_s + CUT_S, kill_after_s=drain_s + KILL_S)


@dataclass(frozen=True)
class Lanes:
    """Who serves the quarantine lane of each backend, started when something waits there."""

    state: State
    worker_of: Mapping[str, ChildSpec]

    def waiting(self) -> list[str]:
        """Name the backends with suspected poison that nobody has taken."""
        lists = {stored_as(queue_of(name, quarantine=True)): name for name in self.worker_of}
        try:
            lengths = self.state.server.queued(list(lists))
        except StateError as error:
            log.debug("quarantine not looked at: %s", error)
            return []
        return [lists[key] for key, length in lengths.items() if length]


class ServiceGroup:
    """Starts services, waits until they are ready, and looks after them."""

    def __init__(
        self,
        supervisor: Supervisor,
        signals: StopSignals,
        pulse: Pulse,
        tell: Callable[[str], None],
    ) -> None:
        self._supervisor = supervisor
        self._signals = signals
        self._pulse = pulse
        self._tell = tell
        self._services: dict[str, ChildSpec] = {}
        self._early_deaths: Counter[str] = Counter()
        self._up = False
        self._lanes: Lanes | None = None
        self._quarantined: set[str] = set()
        self._looked_at = time.monotonic()
        pulse.not_ready = self._not_ready

    def start(self, spec: ChildSpec) -> None:
        self._services[spec.name] = spec
        self._supervisor.start(spec)

    def serve_quarantine(self, lanes: Lanes) -> None:
        """From now on, start who serves a quarantine lane when something waits in it."""
        self._lanes = lanes

    def look(self) -> None:
        """Look after the services once; raises Interrupted if it was asked to stop."""
        self._signals.raise_if_stopped()
        self._pulse.beat()
        for death in self._supervisor.poll():
            self._tell(f"{death.in_words()}; it is started again")
            self._note_early(death.name)
        if time.monotonic() - self._looked_at >= QUARANTINE_LOOK_S:
            self._looked_at = time.monotonic()
            self._look_at_lanes()

    def wait_until_ready(self) -> None:
        """Wait until every service can do its work.

        Raises EmbeddedError with the end of its log for one that does not come up.
        """
        deadline = time.monotonic() + READY_S
        while late := self._not_ready():
            if time.monotonic() > deadline:
                raise EmbeddedError(f"not ready within {READY_S:g} s: {'; '.join(late)}")
            self.look()
            time.sleep(TURN_S)
        self._up = True

    def stay(self) -> NoReturn:
        """Look after the services; raises Interrupted when asked to stop."""
        while True:
            self.look()
            self._signals.stop.wait(TURN_S)

    def _note_early(self, name: str) -> None:
        self._early_deaths[name] += 1
        spec = self._services.get(name)
        if not self._up and spec is not None and self._early_deaths[name] >= HOPELESS:
            raise EmbeddedError(
                f"{name} does not come up: repair what its log says and run the same command "
                f"again. {end_of_log(spec.log_path)}"
            )

    def _look_at_lanes(self) -> None:
        if self._lanes is None:
            return
        for backend in self._lanes.waiting():
            if backend not in self._quarantined:
                self._quarantined.add(backend)
                self._tell(f"backend {backend!r} has suspected poison: a worker of its own is up")
                self.start(self._lanes.worker_of[backend])

    def _not_ready(self) -> tuple[str, ...]:
        now = time.monotonic()
        paths = [spec.health_path for spec in list(self._services.values()) if spec.health_path]
        found = [complaints(path, ready=True, now=now) for path in paths]
        return tuple(problem for problems in found for problem in problems)
