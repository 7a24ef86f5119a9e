"""What only the backend itself can tell of its answers: a simulator's behaviour, a version.

It is part of the fingerprint, so it is asked before a plan is made.
"""

from __future__ import annotations

from collections.abc import Callable

from skillopt.domain.backend import Backend

#: Stands for the behaviour a simulator publishes, until somebody has asked it.
PUBLISHED_REVISION = "published"

#: Asks a backend what it is: a simulator for the id of its behaviour, an agent program for its
#: version. Raises ConfigError if there is no answer.
PublishRevision = Callable[[Backend], str]


def published(backend: Backend, ask: PublishRevision) -> Backend:
    """Give a backend with what it tells of itself; nothing is asked that the catalogue pins."""
    if backend.kind == "simulated" and backend.revision == PUBLISHED_REVISION:
        return backend.model_copy(update={"revision": ask(backend)})
    if backend.agent is not None and not backend.agent.version:
        agent = backend.agent.model_copy(update={"version": ask(backend)})
        return backend.model_copy(update={"agent": agent})
    return backend
