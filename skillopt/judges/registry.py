"""Which scorer serves which kind of judge."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from skillopt.domain.item import Judge
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.judges.exact import ExactScorer
from skillopt.judges.function import FunctionScorer
from skillopt.judges.rule import RuleScorer
from skillopt.judges.scorer import Scorer

_SCORERS: Mapping[str, Scorer[Any]] = MappingProxyType(
    {"exact": ExactScorer(), "rule": RuleScorer(), "function": FunctionScorer()}
)


def judge(judge: Judge, reply: ReplyBody) -> JudgementBody | InvalidBody:
    """Score a reply.

    A judge with problems, or a check that does not finish in time, makes the task invalid: that
    is not the model's fault and never a zero. May take a second for each regular expression.
    """
    problems = validate_judge(judge)
    if problems:
        return InvalidBody(reason="the judge is not usable: " + "; ".join(problems))
    return _SCORERS[judge.kind].score(judge, reply)


def validate_judge(judge: Judge) -> list[str]:
    """Say in words what is wrong with a judge; empty if it can be used."""
    return _SCORERS[judge.kind].problems(judge)


def judge_versions() -> dict[str, int]:
    """Give the version of each kind's scoring; a change of it means judging anew."""
    return {kind: scorer.version for kind, scorer in _SCORERS.items()}
