"""Local judges: they score a reply by its text alone, without a model and without a sandbox."""

from __future__ import annotations

from skillopt.judges.registry import (
    judge,
    judge_versions,
    kind_fault,
    known_kinds,
    validate_judge,
)

__all__ = ["judge", "judge_versions", "kind_fault", "known_kinds", "validate_judge"]
