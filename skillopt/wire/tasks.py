"""Names of tasks and queues."""

from __future__ import annotations

from skillopt.domain.jobs import JobKind

#: Raised when a payload changes; a worker refuses versions it does not know.
WIRE_VERSION = 1

TASK_NAMES: dict[JobKind, str] = {
    "rollout": "so.rollout",
    "judge": "so.judge",
    "optimize": "so.optimize",
}

#: Nobody listens here: a message without a route shows up instead of running on a wrong backend.
DEFAULT_QUEUE = "b.none"


def queue_of(backend: str, *, quarantine: bool = False) -> str:
    """Name the queue of a backend's jobs; suspected poison runs alone in the `.q` lane."""
    return f"b.{backend}.q" if quarantine else f"b.{backend}"


#: Every word a task may return: all that Celery and Flower ever see of an outcome.
OUTCOME_WORDS = frozenset(
    {
        "scored", "model_failed", "invalid", "cached", "busy", "dead", "quarantined", "refused",
        "abandoned", "lost", "unknown_job", "budget", "budget_held", "throttled", "rate_limited",
        "server_error", "timeout", "connection", "endpoint_down", "auth", "unknown_model",
        "bad_request", "call", "draining", "state_corrupt", "incompatible", "error",
    }
)  # fmt: skip
