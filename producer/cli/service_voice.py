"""How a service speaks: by its log alone."""

from __future__ import annotations

import logging

from producer.services.running import Voice

log = logging.getLogger("skillopt")


def service_voice(ready: str) -> Voice:
    return Voice(
        ready=lambda: log.info("%s", ready, extra={"event": "ready"}),
        tell=lambda words: log.warning("%s", words, extra={"event": "service"}),
    )
