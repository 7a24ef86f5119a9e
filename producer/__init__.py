"""Turns a run into work: submission, coordination, the command line, what people see.

For programs: `optimize` trains a skill and gives a `RunResult`; a judge that is a function may
return a `Score`; callbacks get an `Event` or a `Snapshot`. Each is loaded when it is first used, so
that commands start fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from producer.interruption import Interrupted
    from producer.judge_function import Score
    from producer.optimizing import optimize
    from producer.run_result import RunPaused, RunResult
    from producer.view.live import Snapshot
    from skillopt.domain.events import Event

__all__ = ["Event", "Interrupted", "RunPaused", "RunResult", "Score", "Snapshot", "optimize"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever has the name
    homes = {
        "Event": "skillopt.domain.events",
        "Interrupted": "producer.interruption",
        "RunPaused": "producer.run_result",
        "RunResult": "producer.run_result",
        "Score": "producer.judge_function",
        "Snapshot": "producer.view.live",
        "optimize": "producer.optimizing",
    }
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(homes[name]), name)
