"""The limits of a worker's backend as they are now: a person may change them while it runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from pydantic import ValidationError

from skillopt.domain.backend import Backend, Limits
from skillopt.errors import StateError
from skillopt.state.ports import SetLimits

log = logging.getLogger(__name__)


class LiveLimits:
    """Looks at the shared state every so often; in between, and while the state is away, the
    limits stay as they were. It may be shared by threads.
    """

    def __init__(
        self,
        shared: SetLimits,
        backend: Backend,
        *,
        every_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shared = shared
        self._backend = backend
        self._every_s = every_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._limits = backend.limits
        self._looked_at = float("-inf")

    def __call__(self) -> Limits:
        with self._lock:
            now = self._monotonic()
            if now - self._looked_at >= self._every_s:
                self._looked_at = now
                self._look()
            return self._limits

    def _look(self) -> None:
        try:
            limits = self._backend.limits.changed(self._shared.of(self._backend.name))
        except (StateError, ValidationError) as error:
            log.warning("limits stay: %s", error, extra={"event": "limits_unread"})
            return
        if limits != self._limits:
            told = limits.model_dump_json(exclude_none=True)
            log.info("limits are now %s", told, extra={"event": "limits_changed"})
        self._limits = limits
