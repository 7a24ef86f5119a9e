"""Which scorer serves which kind of judge: those of this package, and those that others add.

A package adds a kind by an entry point of the group `skillopt.judges`, whose name is the kind and
whose object is a `Scorer` or a class of one. The kinds of this package need no installation.
Kinds that ask a model are this package's own: they take jobs and calls of another sort.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from skillopt.domain.item import AddedJudge, Judge
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.errors import JudgeFailed
from skillopt.judges.answer import AnswerScorer
from skillopt.judges.choice import ChoiceScorer
from skillopt.judges.exact import ExactScorer
from skillopt.judges.function import FunctionScorer
from skillopt.judges.model_scorer import ModelScorer
from skillopt.judges.numeric import NumericScorer
from skillopt.judges.rubric import RubricScorer
from skillopt.judges.rule import RuleScorer
from skillopt.judges.scorer import Scorer

GROUP = "skillopt.judges"
_OWN: Mapping[str, Scorer[Any]] = MappingProxyType(
    {
        "exact": ExactScorer(),
        "rule": RuleScorer(),
        "answer": AnswerScorer(),
        "numeric": NumericScorer(),
        "choice": ChoiceScorer(),
        "function": FunctionScorer(),
    }
)
#: Kinds whose judgements are calls of a model, each a job of its own.
_ASKING: Mapping[str, ModelScorer[Any]] = MappingProxyType({"rubric": RubricScorer()})


@dataclass(frozen=True)
class _Kinds:
    scorers: Mapping[str, Scorer[Any]]
    #: Kinds that a package adds but that cannot be used, and why.
    faults: Mapping[str, str]


def judge(judge: Judge, reply: ReplyBody) -> JudgementBody | InvalidBody:
    """Score a reply.

    A judge with problems, or a check that does not finish in time, makes the task invalid: that
    is not the model's fault and never a zero. May take a second for each regular expression.
    Raises JudgeFailed if a judge of another package fails by itself, and for a judge that asks a
    model, which cannot be had here.
    """
    if judge.kind in _ASKING:
        raise JudgeFailed(
            f"judge kind {judge.kind!r} asks a model: its judgements are jobs of their own, for "
            "workers of the backend in the role of judge"
        )
    problems = validate_judge(judge)
    if problems:
        return InvalidBody(reason="the judge is not usable: " + "; ".join(problems))
    scorer = _kinds().scorers[judge.kind]
    if isinstance(judge, AddedJudge):
        return _added_score(scorer, judge, reply)
    return scorer.score(judge, reply)


def model_scorer(judge: Judge) -> ModelScorer[Any] | None:
    """Give what puts replies to the model that this judge asks; None if it asks none."""
    return _ASKING.get(judge.kind)


def validate_judge(judge: Judge) -> list[str]:
    """Say in words what is wrong with a judge; empty if it can be used."""
    asking = model_scorer(judge)
    if asking is not None:
        return asking.problems(judge)
    scorer = _kinds().scorers.get(judge.kind)
    if scorer is None:
        return [kind_fault(judge.kind) or f"judge kind {judge.kind!r} is not known here"]
    if not isinstance(judge, AddedJudge):
        return scorer.problems(judge)
    try:
        return [str(problem) for problem in scorer.problems(judge)]
    except Exception as error:  # noqa: BLE001 - another package's code may raise anything
        return [f"judge kind {judge.kind!r} cannot be checked: {type(error).__name__}: {error}"]


def judge_versions() -> dict[str, int]:
    """Give the version of each kind's scoring; a change of it means judging anew."""
    local = {kind: scorer.version for kind, scorer in _kinds().scorers.items()}
    return local | {kind: scorer.version for kind, scorer in _ASKING.items()}


def known_kinds() -> tuple[str, ...]:
    """Name the kinds that can be used here, those of this package first."""
    return (*_OWN, *_ASKING, *(kind for kind in _kinds().scorers if kind not in _OWN))


def kind_fault(kind: str) -> str | None:
    """Say why a kind that a package adds cannot be used; None if nothing is wrong with it."""
    return _kinds().faults.get(kind)


@cache
def _kinds() -> _Kinds:
    """Find all kinds; another package's code is imported here, once in a process."""
    scorers = dict(_OWN)
    faults: dict[str, str] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        if entry.name in _OWN or entry.name in _ASKING:
            continue  # what this package's kinds mean is not for others to change
        loaded = _load(entry, taken=entry.name in scorers or entry.name in faults)
        if isinstance(loaded, str):
            faults[entry.name] = loaded
            scorers.pop(entry.name, None)
        else:
            scorers[entry.name] = loaded
    return _Kinds(MappingProxyType(scorers), MappingProxyType(faults))


def _load(entry: EntryPoint, *, taken: bool) -> Scorer[Any] | str:
    """Load what a package adds, or say why it cannot be used."""
    package = entry.dist.name if entry.dist is not None else entry.value
    label = f"judge kind {entry.name!r} of package {package!r}"
    if taken:
        return f"{label} is added by another package too; uninstall one of them"
    try:
        loaded = entry.load()
        scorer: Scorer[Any] = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # noqa: BLE001 - another package's code may raise anything
        return f"{label} cannot be loaded: {type(error).__name__}: {error}"
    version = getattr(scorer, "version", None)
    if type(version) is not int or version < 1:
        return f"{label} has version {version!r}; it needs a whole number from 1"
    for method in ("problems", "score"):
        if not callable(getattr(scorer, method, None)):
            return f"{label} has no method {method!r}; it is no Scorer"
    return scorer


def _added_score(
    scorer: Scorer[Any], judge: AddedJudge, reply: ReplyBody
) -> JudgementBody | InvalidBody:
    try:
        body = scorer.score(judge, reply)
    except JudgeFailed:
        raise
    except Exception as error:
        raise JudgeFailed(
            f"judge kind {judge.kind!r} failed: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(body, JudgementBody | InvalidBody):
        raise JudgeFailed(
            f"judge kind {judge.kind!r} returned {type(body).__name__}, not a JudgementBody"
        )
    return body
