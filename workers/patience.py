"""Waiting for a state that is away."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from skillopt.errors import StateUnavailable

log = logging.getLogger(__name__)
T = TypeVar("T")

#: Pause between two tries to reach a state that is away.
STATE_RETRY_S = 0.5


def patiently(operation: Callable[[], T]) -> T:
    """Repeat an operation until the state can be reached; leases are renewed meanwhile."""
    while True:
        try:
            return operation()
        except StateUnavailable as error:
            log.warning("waiting for the state: %s", error, extra={"event": "state_away"})
            time.sleep(STATE_RETRY_S)
