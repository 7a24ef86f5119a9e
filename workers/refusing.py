"""Work for another version than this worker's: refused, and the run that waits is told why.

Nothing counts against the job: it rests for a moment and is sent again, until a worker that
understands it takes it.
"""

from __future__ import annotations

import logging
from typing import Any

from skillopt import __version__
from skillopt.errors import Incompatible, StateError
from skillopt.state.ports import ClaimStatus
from skillopt.wire.payloads import addressed
from workers.container import Container

log = logging.getLogger(__name__)

#: The word for a message of which nobody need be told.
REFUSED = "refused"


def incompatible(container: Container, why: str) -> Incompatible:
    """Say for people that this worker is of the wrong version for a job."""
    return Incompatible(
        f"a worker of version {__version__} (backend {container.backend.name!r}) refuses: {why}; "
        "upgrade it, or start one of the version that the run needs"
    )


def refuse_message(container: Container, payload: Any, why: str) -> str:  # noqa: ANN401 - whatever arrived
    """Refuse a message that cannot be read, in one word.

    If it names a job of ours that is waited for, the runs that wait are told `why`; from
    anything else nothing follows. A state that is away is not waited for: the message is sent
    again by itself.
    """
    about = addressed(payload)
    if about is None or about.backend != container.backend.name:
        return REFUSED
    claims, owner = container.state.claims, f"{container.name}:{container.new_id()}"
    error = incompatible(container, why)
    try:
        claim = claims.claim(about.job, run=about.run, owner=owner, lane=container.lane)
        if claim.status is not ClaimStatus.RUN:
            return REFUSED
        claims.release(
            about.job,
            owner=owner,
            delay_s=container.timing.infra_delay_s,
            reason=f"{error.code}: {error}",
        )
    except StateError as away:
        log.warning("refusal not told: %s", away, extra={"event": "refusal_untold"})
        return REFUSED
    return error.code
