"""What a program did and answered, without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.backends.cli.trace import Step, Trace
from skillopt.backends.redaction import without


def trace_without(trace: Trace, secrets: Sequence[str]) -> Trace:
    """Hide secrets in what was done and answered; the escapes of JSON, which hide them too, are
    gone from there.
    """
    return replace(
        trace,
        steps=tuple(_step_without(step, secrets) for step in trace.steps),
        answer=None if trace.answer is None else without(trace.answer, secrets),
    )


def _step_without(step: Step, secrets: Sequence[str]) -> Step:
    return replace(
        step,
        text=without(step.text, secrets),
        tool=without(step.tool, secrets),
        result=without(step.result, secrets),
    )
