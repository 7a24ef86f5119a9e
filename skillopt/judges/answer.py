"""The answer judge: the final answer is one of the expected ones, compared as SQuAD does.

Case, punctuation, the articles a, an and the, and white space do not matter; the soft score is the
best overlap of words (F1). Unlike there, a number keeps its minus sign and its decimal point, and
an answer of nothing but articles or punctuation is compared as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from skillopt.domain.item import AnswerJudge
from skillopt.domain.results import CriterionResult, InvalidBody, JudgementBody, ReplyBody
from skillopt.judges.final_answer import final_answer, listed, shown
from skillopt.judges.scorer import blank_answers, missing_answer, verdict

_SIGN = re.compile(r"[^\w\s]|_")
_ARTICLES = frozenset({"a", "an", "the"})
_MINUS = "-\u2212"


class AnswerScorer:
    version = 1

    def problems(self, judge: AnswerJudge) -> list[str]:
        return blank_answers("answer", judge.answers)

    def score(self, judge: AnswerJudge, reply: ReplyBody) -> JudgementBody | InvalidBody:
        missing = missing_answer(reply)
        given = "" if missing else final_answer(reply.text)
        said = words(given)
        expected = [words(answer) for answer in judge.answers]
        passed = not missing and said in expected
        overlap = 0.0 if missing else max(_overlap(said, answer) for answer in expected)
        criterion = CriterionResult(
            name=f"answer={' | '.join(judge.answers)}",
            requirement="the last line is the expected answer itself, or <answer>…</answer> "
            "holds it",
            passed=passed,
            detail=missing
            or (f"the answer is {shown(given)}" if passed else _missed(judge, given, reply.text)),
        )
        return verdict([criterion], lead=missing or "", soft=1.0 if passed else overlap)


def words(text: str) -> list[str]:
    """Give the words by which two answers are compared."""
    folded = unicodedata.normalize("NFC", text).casefold()
    plain = _SIGN.sub(_kept, folded).split()
    return [word for word in plain if word not in _ARTICLES] or plain or folded.split()


def _kept(sign: re.Match[str]) -> str:
    """Keep what is part of a number, and marks that are part of a letter."""
    char, text, place = sign.group(), sign.string, sign.start()
    before, after = text[place - 1 : place], text[place + 1 : place + 3]
    if char == "." and after[:1].isdigit():
        return "" if before.isalpha() else "."
    if char in _MINUS and after.lstrip(".")[:1].isdigit():
        return "" if before.isalnum() else "-"
    return "" if unicodedata.category(char)[0] in "PS" else char


def _overlap(said: Sequence[str], expected: Sequence[str]) -> float:
    common = sum((Counter(said) & Counter(expected)).values())
    return 2 * common / (len(said) + len(expected)) if common else 0.0


def _missed(judge: AnswerJudge, given: str, reply: str) -> str:
    wanted = f"expected {listed(judge.answers)}"
    if _holds(given, judge.answers):
        return f"it says more than the answer: {shown(given)}; {wanted}"
    if _holds(reply, judge.answers):
        return f"the answer stands elsewhere in the reply; its end is {shown(given)}; {wanted}"
    return f"the answer is {shown(given)}; {wanted}"


def _holds(text: str, answers: Sequence[str]) -> bool:
    said = f" {' '.join(words(text))} "
    return any(f" {' '.join(words(answer))} " in said for answer in answers)
