"""What failed, and how often, in the judges' own words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skillopt.domain.results import CriterionResult, JudgementBody


def failing_criteria(judgements: Sequence[JudgementBody]) -> str:
    """Tally what failed, verbatim, most frequent first."""
    asked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for judgement in judgements:
        for criterion in judgement.criteria:
            asked[criterion.requirement] += 1
            failed[criterion.requirement] += not criterion.passed
    rows = sorted((-count, text) for text, count in failed.items() if count)
    lines = [f"- {_indented(text)} (failed in {-n} of {asked[text]} attempts)" for n, text in rows]
    return "\n".join(lines) or "- the judge gave no criterion"


def criterion_line(criterion: CriterionResult) -> str:
    detail = f": {criterion.detail}" if criterion.detail else ""
    return f"- {_indented(criterion.requirement + detail)}"


def _indented(text: str) -> str:
    """Keep a text of several lines within its list entry."""
    return text.replace("\n", "\n  ")
