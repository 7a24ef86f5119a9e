"""The gate: is a candidate better than the current document on held-out items?

Paired: both documents are compared on the items that have a score for both. Strict: a tie is a
rejection. With too little coverage the gate does not know, and says so. A candidate with which no
item can be scored at all is rejected: waiting would not change that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from skillopt.domain.events import Measurement, Verdict
from skillopt.domain.spec import Evaluation
from skillopt.loop.gate_rules import GateRules

#: Two means over the same items that differ by less than this differ by rounding only.
EPSILON = 1e-9


@dataclass(frozen=True)
class Opinion:
    """What the gate makes of a candidate, and why."""

    verdict: Verdict
    candidate: float | None
    current: float | None
    pairs: int
    improved: tuple[str, ...]
    regressed: tuple[str, ...]
    reason: str
    p_value: float | None = None


def item_score(hard: float, soft: float, settings: Evaluation) -> float:
    if settings.gate_metric == "hard":
        return hard
    if settings.gate_metric == "soft":
        return soft
    weight = settings.gate_mixed_weight
    return (1 - weight) * hard + weight * soft


def scores(measurement: Measurement, settings: Evaluation) -> dict[str, float]:
    """Give the gate score of each scored item."""
    return {
        item: item_score(score.hard or 0.0, score.soft or 0.0, settings)
        for item, score in measurement.items.items()
        if score.status == "scored"
    }


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def score_of(measurement: Measurement, settings: Evaluation) -> float | None:
    return mean(list(scores(measurement, settings).values()))


def judge_candidate(candidate: Measurement, current: Measurement, rules: GateRules) -> Opinion:
    """Compare a candidate with the current document."""
    settings = rules.settings
    new, old = scores(candidate, settings), scores(current, settings)
    paired = [item for item in candidate.items if item in new and item in old]
    new_mean, old_mean = mean([new[i] for i in paired]), mean([old[i] for i in paired])
    improved = tuple(i for i in paired if new[i] > old[i] + EPSILON)
    regressed = tuple(i for i in paired if new[i] < old[i] - EPSILON)
    coverage = min(candidate.completeness, current.completeness)
    changes = f"{len(improved)} improved, {len(regressed)} regressed"
    missing = sum(score.status == "missing" for score in candidate.items.values())
    if new_mean is None or old_mean is None:
        # Without anything missing no retry can bring a pair: the candidate is not better.
        reason = "no item has a score for both documents"
        if missing:
            reason += f"; {missing} of {len(candidate.items)} have no result yet"
        word: Literal["reject", "indecisive"] = "indecisive" if missing else "reject"
        return Opinion(word, new_mean, old_mean, 0, improved, regressed, reason)
    if coverage < settings.min_coverage:
        reason = (
            f"{missing} of {len(candidate.items)} items have no score: coverage "
            f"{coverage:.0%} is below min_coverage {settings.min_coverage:.0%}"
        )
        return Opinion("indecisive", new_mean, old_mean, len(paired), improved, regressed, reason)
    if new_mean > old_mean + EPSILON:
        reason = f"{settings.gate_metric} rose from {old_mean:.3f} to {new_mean:.3f} ({changes})"
        return Opinion("accept", new_mean, old_mean, len(paired), improved, regressed, reason)
    moved = "fell" if new_mean < old_mean - EPSILON else "stayed"
    reason = f"{settings.gate_metric} {moved}: {old_mean:.3f} to {new_mean:.3f} ({changes})"
    return Opinion("reject", new_mean, old_mean, len(paired), improved, regressed, reason)
