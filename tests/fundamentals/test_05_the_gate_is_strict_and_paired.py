"""5. The gate is strict and paired.

A candidate replaces the current document only if it does better on held-out tasks. Both are
compared on the tasks that both have a score for (*paired*), and a tie is a rejection (*strict*):
a change that does not help is not made. With `significance` a gain must also be larger than what
equal documents show by chance, and a candidate that gains elsewhere may still not spoil a task
that is protected.
"""

from __future__ import annotations

from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.spec import Evaluation
from skillopt.loop.gate import judge_candidate
from skillopt.loop.gate_rules import GateRules


def measured(**scores: float | None) -> Measurement:
    items = {
        name: ItemScore(status="invalid")
        if score is None
        else ItemScore(status="scored", hard=score, soft=score)
        for name, score in scores.items()
    }
    return Measurement(skill="document", split="val", items=items)


def verdict(
    candidate: Measurement,
    current: Measurement,
    *,
    level: float | None = None,
    protected: tuple[str, ...] = (),
) -> str:
    rules = GateRules(Evaluation(), level, frozenset(protected))
    return judge_candidate(candidate, current, rules).verdict


def test_better_is_accepted():
    assert verdict(measured(a=1.0, b=1.0), measured(a=1.0, b=0.0)) == "accept"


def test_equal_is_rejected():
    assert verdict(measured(a=0.0, b=1.0), measured(a=1.0, b=0.0)) == "reject"


def test_a_task_that_cannot_be_scored_for_one_counts_for_neither():
    # By their own means the candidate is ahead, 1.0 to 0.5. On the one common task it is not.
    assert verdict(measured(a=None, b=1.0), measured(a=0.0, b=1.0)) == "reject"


def test_what_chance_may_bring_is_not_enough_for_a_significant_gain():
    # Two gains of two are one in four by chance; five of five one in 32.
    few, many = "ab", "abcde"
    for names, expected in ((few, "underpowered"), (many, "accept")):
        worse, better = (measured(**dict.fromkeys(names, score)) for score in (0.0, 1.0))
        assert verdict(better, worse, level=0.05) == expected


def test_a_protected_task_is_not_traded_for_others():
    current, candidate = measured(a=1.0, b=0.0, c=0.0), measured(a=0.0, b=1.0, c=1.0)
    assert verdict(candidate, current) == "accept"
    assert verdict(candidate, current, protected=("a",)) == "reject"
