"""The exact judge: the whole answer is one of the expected ones.

Case, white space, surrounding punctuation, quotes and emphasis do not matter. Signs, units and
every digit do: "-5" is not "5", and "42" does not contain "4". What the last closed
`<answer>…</answer>` of a reply holds is its whole answer.
"""

from __future__ import annotations

import re
import unicodedata

from skillopt.domain.item import ExactJudge
from skillopt.domain.results import CriterionResult, InvalidBody, JudgementBody, ReplyBody
from skillopt.judges.final_answer import shown, tagged_answer
from skillopt.judges.scorer import blank_answers, missing_answer, verdict

_SURROUNDING = " \t\r\n.,;:!?…'\"«»„“”`*_()[]{}"
_SAME_CHARACTER = str.maketrans({"\u2019": "'", "\u2018": "'", "\u2212": "-"})
_DECIMAL = re.compile(r"[.,]\d")


class ExactScorer:
    version = 1

    def problems(self, judge: ExactJudge) -> list[str]:
        return blank_answers("exact", _expected(judge), key="answer")

    def score(self, judge: ExactJudge, reply: ReplyBody) -> JudgementBody | InvalidBody:
        missing = missing_answer(reply)
        tagged = tagged_answer(reply.text)
        given = reply.text.strip() if tagged is None else tagged
        passed = missing is None and any(
            _holds(expected, given, substring=judge.substring) for expected in _expected(judge)
        )
        criterion = CriterionResult(
            name=f"exact={' | '.join(_expected(judge))}",
            requirement=_requirement(judge),
            passed=passed,
            detail=missing or f"the answer is {shown(given)}",
        )
        return verdict([criterion], lead=missing or "")


def _expected(judge: ExactJudge) -> tuple[str, ...]:
    return (judge.answer,) if isinstance(judge.answer, str) else judge.answer


def _requirement(judge: ExactJudge) -> str:
    answers = " or ".join(f'"{answer}"' for answer in _expected(judge))
    if judge.substring:
        return f"the answer contains the expected answer {answers}"
    return f"the whole answer equals the expected answer {answers}"


def _holds(expected: str, given: str, *, substring: bool) -> bool:
    if not substring:
        return normalise(expected) == normalise(given)
    return f" {_tokens(expected)} " in f" {_tokens(given)} "


def normalise(text: str) -> str:
    """Reduce a text to what counts when two answers are compared."""
    folded = unicodedata.normalize("NFC", text).translate(_SAME_CHARACTER).casefold()
    return _strip(" ".join(folded.split()))


def _tokens(text: str) -> str:
    return " ".join(_strip(token) for token in normalise(text).split())


def _strip(text: str) -> str:
    """Take surrounding punctuation off, unless there is nothing else."""
    bare = text.rstrip(_SURROUNDING)
    start = 0
    while start < len(bare) and bare[start] in _SURROUNDING and not _DECIMAL.match(bare, start):
        start += 1
    return bare[start:] or text
