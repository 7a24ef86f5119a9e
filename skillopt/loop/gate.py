"""The gate: is a candidate better than the current document on held-out items?

Paired: both documents are compared on the items that have a score for both. Strict: a tie is a
rejection. With `significance` a gain must also be more than chance brings between equal documents.
With too little coverage the gate does not know, and says so. A candidate with which no item can
be scored at all is rejected: waiting would not change that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillopt.domain.events import Verdict
from skillopt.domain.measurement import Measurement
from skillopt.domain.spec import Evaluation
from skillopt.loop.gate_rules import GateRules
from skillopt.loop.score_units import is_a_gain, units_of
from skillopt.stats.paired import least_p, needed_to_differ, sign_flip_p

#: Two means over the same items that differ by less than this differ by rounding only.
EPSILON = 1e-9
#: What a reason says before it names protected tasks, which it ends with.
PROTECTED_WORSE = "protected tasks got worse"
#: Tasks named in a reason.
_NAMED_TASKS = 5


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
    """Give the mean, whatever the order of the values."""
    return math.fsum(values) / len(values) if values else None


def score_of(measurement: Measurement, settings: Evaluation) -> float | None:
    return mean(list(scores(measurement, settings).values()))


@dataclass(frozen=True)
class Comparison:
    """Two documents on the items that both have a score for."""

    #: The candidate's gain on each item, in units, in the candidate's order.
    differences: dict[str, int]
    candidate: float | None
    current: float | None

    @property
    def improved(self) -> tuple[str, ...]:
        return tuple(item for item, gain in self.differences.items() if gain > 0)

    @property
    def regressed(self) -> tuple[str, ...]:
        return tuple(item for item, gain in self.differences.items() if gain < 0)

    def opinion(self, verdict: Verdict, reason: str, p_value: float | None = None) -> Opinion:
        return Opinion(
            verdict,
            self.candidate,
            self.current,
            len(self.differences),
            self.improved,
            self.regressed,
            reason,
            p_value,
        )


def compare(candidate: Measurement, current: Measurement, settings: Evaluation) -> Comparison:
    units = units_of(settings)
    new, old = scores(candidate, settings), scores(current, settings)
    paired = [item for item in candidate.items if item in new and item in old]
    return Comparison(
        {item: units.difference(new[item], old[item]) for item in paired},
        mean([new[item] for item in paired]),
        mean([old[item] for item in paired]),
    )


def judge_candidate(candidate: Measurement, current: Measurement, rules: GateRules) -> Opinion:
    """Compare a candidate with the current document."""
    found = compare(candidate, current, rules.settings)
    if not found.differences:
        missing = _missing(candidate)
        reason = "no item has a score for both documents"
        if missing:
            reason += f"; {len(missing)} of {len(candidate.items)} have no result yet"
        # Without anything missing no retry can bring a pair: the candidate is not better.
        return found.opinion("indecisive" if missing else "reject", reason)
    unknown = _too_little_known(candidate, current, rules)
    if unknown:
        return found.opinion("indecisive", unknown)
    p_value = None
    if rules.level is not None:
        units = units_of(rules.settings)
        p_value = sign_flip_p(units.quanta(gain) for gain in found.differences.values())
    verdict, reason = _verdict(found, rules, len(current.items), p_value)
    return found.opinion(verdict, reason, p_value)


def worse_protected(regressed: Iterable[str], rules: GateRules) -> str:
    """Say which protected tasks got worse; "" if none did."""
    worse = [item for item in regressed if item in rules.protected]
    return f"{PROTECTED_WORSE}: {_named(worse)}" if worse else ""


def _missing(measurement: Measurement) -> list[str]:
    return [item for item, score in measurement.items.items() if score.status == "missing"]


def _too_little_known(candidate: Measurement, current: Measurement, rules: GateRules) -> str:
    least = rules.settings.min_coverage
    for measurement, whose in ((candidate, ""), (current, " with the current document")):
        if measurement.completeness < least:
            return (
                f"{len(_missing(measurement))} of {len(measurement.items)} items have no score"
                f"{whose}: coverage {measurement.completeness:.0%} is below min_coverage "
                f"{least:.0%}"
            )
    known = scores(current, rules.settings)
    open_ones = [item for item in _missing(candidate) if item in rules.protected and item in known]
    return f"protected tasks have no score: {_named(open_ones)}" if open_ones else ""


def _verdict(
    found: Comparison, rules: GateRules, items: int, p_value: float | None
) -> tuple[Verdict, str]:
    metric = rules.settings.gate_metric
    changes = f"{len(found.improved)} improved, {len(found.regressed)} regressed"
    figures = f"{found.current:.3f} to {found.candidate:.3f} ({changes})"
    total = sum(found.differences.values())
    worse = worse_protected(found.regressed, rules)
    if not is_a_gain(total, items):
        moved = "fell" if is_a_gain(-total, items) else "stayed"
        reason = f"{metric} {moved}: {figures}"
        return "reject", f"{reason}; {worse}" if worse else reason
    rose = f"{metric} rose from {figures}"
    if worse:
        return "reject", f"{rose}, but {worse}"
    if rules.level is None or p_value is None:
        return "accept", rose
    if p_value <= rules.level:
        return "accept", f"{rose}; p {p_value:.3g} is within this gate's level {rules.level:.3g}"
    differing = len(found.improved) + len(found.regressed)
    if least_p(differing) > rules.level:
        return "underpowered", f"{rose}, but {_what_it_takes(differing, items, rules.level)}"
    return "reject", f"{rose}, but p {p_value:.3g} is above this gate's level {rules.level:.3g}"


def _what_it_takes(differing: int, items: int, level: float) -> str:
    needed = needed_to_differ(level)
    reason = (
        f"only {differing} tasks differ: p is at least {least_p(differing):.3g} however they "
        f"fall, above this gate's level {level:.3g}; at least {needed} tasks must differ"
    )
    if needed > items:
        return f"{reason}, and val has {items}: it needs more tasks"
    return f"{reason}: use more val tasks or more samples"


def _named(items: Sequence[str]) -> str:
    more = len(items) - _NAMED_TASKS
    return ", ".join(items[:_NAMED_TASKS]) + (f" and {more} more" if more > 0 else "")
