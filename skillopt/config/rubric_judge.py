"""A rubric judge as a person writes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from skillopt.config.answer_judges import Read, Told
from skillopt.domain.item import RubricJudge

_EXAMPLE = "say what a good answer does, here or in the record as `rubric`"
#: Stands for the rubrics that tasks bring, to check all else of a default judge.
_SAMPLE = "x"


def read_rubric(written: Mapping[str, Any], told: Told) -> Read:
    """Read a rubric judge; the task's own rubric counts if the judge has none."""
    problems: list[str] = []
    rubric = written.get("rubric")
    if rubric is None and told.is_default:
        rubric = _SAMPLE
    if rubric is None:
        problems.append(f"judge.rubric is missing; {_EXAMPLE}")
    elif not isinstance(rubric, str):
        problems.append(f"judge.rubric: {rubric!r} is not a text; put it in quotes")
    threshold = _threshold(written.get("threshold"))
    if threshold is None:
        problems.append(
            f"judge.threshold: {written['threshold']!r} is not a number above 0 and up to 1; "
            "write it like 0.8"
        )
    if problems or threshold is None or not isinstance(rubric, str):
        return None, problems
    return RubricJudge(rubric=rubric, threshold=threshold), []


def with_rubric(
    judge: Mapping[str, Any], rubric: object, *, is_default: bool
) -> tuple[Mapping[str, Any], str | None]:
    """Give a judge the rubric of its task's record, and say what is wrong with that.

    The record's takes the place of a default judge's; of a judge of its own it must not differ.
    """
    own = judge.get("rubric")
    if own is None or is_default or own == rubric:
        return {**judge, "rubric": rubric}, None
    return judge, f"judge.rubric: {own!r} differs from the record's own {rubric!r}; keep one"


def _threshold(written: object) -> float | None:
    """Read a threshold; None if it is none."""
    if written is None:
        return float(RubricJudge.model_fields["threshold"].default)
    if isinstance(written, bool) or not isinstance(written, int | float):
        return None
    return float(written) if math.isfinite(written) and 0 < written <= 1 else None
