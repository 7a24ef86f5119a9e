"""Celery's consumer, made to find the broker soon after it is back."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from celery.worker.consumer import Consumer

#: Pauses between tries to reach a broker that is away: the first, the step, the longest. Celery's
#: own grow to half a minute, in which a broker that is back would find nobody.
FIRST_PAUSE_S: Final = 0.5
PAUSE_STEP_S: Final = 0.5
LONGEST_PAUSE_S: Final = 2.0


class QuickConsumer(Consumer):  # type: ignore[misc]  # Celery has no types
    """Finds the broker soon after it is back."""

    def ensure_connected(self, conn: Any) -> Any:  # noqa: ANN401 - kombu has no types
        conn.ensure_connection = partial(
            conn.ensure_connection,
            interval_start=FIRST_PAUSE_S,
            interval_step=PAUSE_STEP_S,
            interval_max=LONGEST_PAUSE_S,
        )
        return super().ensure_connected(conn)
