"""Judges: most score a reply by its text alone; one that asks a model says what to ask it."""

from __future__ import annotations

from skillopt.judges.registry import (
    judge,
    judge_versions,
    kind_fault,
    known_kinds,
    model_scorer,
    validate_judge,
)

__all__ = [
    "judge",
    "judge_versions",
    "kind_fault",
    "known_kinds",
    "model_scorer",
    "validate_judge",
]
