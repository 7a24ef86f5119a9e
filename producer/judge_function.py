"""A Python function as a judge: what it may return, and the name its judgements are kept under."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, SupportsFloat

from producer.judge_revision import revision_of
from skillopt.domain.item import FunctionJudge
from skillopt.domain.results import CriterionResult, JudgementBody
from skillopt.errors import InputError

#: An analyst is shown a part of this; the rest would only fill the store.
MAX_FEEDBACK_CHARS = 20_000
_MAX_SHOWN_CHARS = 200


@dataclass(frozen=True)
class Score:
    """A judge's verdict: `hard` is 1 if the reply passed and 0 if not, `soft` how near it came,
    from 0 to 1 (default: `hard`).

    Of a reply that failed, the analyst, who improves the document, is shown the criteria that do
    not hold and `feedback`, word for word.
    """

    hard: float
    soft: float | None = None
    feedback: str = ""
    #: What was asked for, in plain words, and whether the reply has it.
    criteria: Mapping[str, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, criteria: Mapping[str, bool], feedback: str = "") -> Score:
        """Pass if all criteria hold; `soft` is the share that does."""
        if not criteria:
            raise ValueError("a score of no criteria says nothing; name at least one")
        held = sum(bool(holds) for holds in criteria.values())
        return cls(float(held == len(criteria)), held / len(criteria), feedback, criteria)


#: A number passes at 1 and is `soft` besides; True is 1 and False is 0.
Scored = Score | bool | float
#: Takes the task's record and the reply. It is called in threads of this process, several at once.
JudgeFunction = Callable[[dict[str, Any], str], Scored]


@dataclass(frozen=True)
class NamedFunction:
    """A function with the name and the revision that its judgements are kept under."""

    call: JudgeFunction
    name: str
    revision: str

    @property
    def judge(self) -> FunctionJudge:
        """The judge as a run knows it, of no task yet."""
        return FunctionJudge(function=self.name, revision=self.revision, task={})


def name_function(function: JudgeFunction, version: str | None) -> NamedFunction:
    """Name a function for the cache.

    Raises InputError if it cannot be a judge, or if a change of what it does could not be seen
    in its source and no `version` says it.
    """
    name = _name_of(function)
    if inspect.iscoroutinefunction(function):
        raise InputError(f"judge {name!r} is asynchronous; give a function that returns the score")
    _require_two_arguments(function, name)
    if version is not None:
        if not isinstance(version, str) or not version.strip():
            raise InputError(f"judge_version: {version!r} is not a text; give one such as '1'")
        return NamedFunction(function, name, version)
    revision, unseen = revision_of(function)
    if revision is None:
        raise InputError(
            f"judge {name!r} depends on {unseen}, so that a change of it would go unnoticed; give "
            "judge_version='1' and another one whenever the judge changes"
        )
    return NamedFunction(function, name, revision)


def _name_of(function: JudgeFunction) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def _require_two_arguments(function: JudgeFunction, name: str) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # some functions written in C do not tell
    try:
        signature.bind({}, "")
    except TypeError as error:
        raise InputError(
            f"judge {name!r} cannot be called with a task's record and a reply ({error}); write "
            "it as `def judge(task, reply)`"
        ) from None


def judgement_of(scored: object) -> JudgementBody:
    """Read what a function returned; raises TypeError or ValueError if that is no score."""
    if not isinstance(scored, Score):
        scored = _score_of_number(scored)
    hard = _share("hard", scored.hard)
    if hard not in (0.0, 1.0):
        raise ValueError(f"hard is 1 (passed) or 0, not {hard!r}; soft says how near it came")
    soft = hard if scored.soft is None else _share("soft", scored.soft)
    criteria = tuple(
        CriterionResult(name=_text("a criterion", name), requirement=name, passed=bool(holds))
        for name, holds in scored.criteria.items()
    )
    feedback = _text("feedback", scored.feedback)[:MAX_FEEDBACK_CHARS]
    return JudgementBody(hard=hard, soft=soft, criteria=criteria, feedback=feedback)


def _score_of_number(scored: object) -> Score:
    """Numbers of other libraries count as well: whatever says which float it is."""
    if not isinstance(scored, SupportsFloat):
        shown = repr(scored)[:_MAX_SHOWN_CHARS]
        raise TypeError(f"a judge returns a Score, a bool or a number, not {shown}")
    number = float(scored)
    return Score(float(number >= 1), number)


def _share(name: str, value: object) -> float:
    number = float(value) if isinstance(value, SupportsFloat) else math.nan
    if not 0 <= number <= 1:
        shown = repr(value)[:_MAX_SHOWN_CHARS]
        raise ValueError(f"{name} lies between 0 and 1, not at {shown}")
    return number


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {repr(value)[:_MAX_SHOWN_CHARS]}")
    # Half of a surrogate pair could be stored nowhere.
    return value.encode(errors="replace").decode()
