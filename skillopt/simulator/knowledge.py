"""The short answer to a question, where the given text states it or it is plain arithmetic."""

from __future__ import annotations

import re

from skillopt.simulator.filler import topic_words

_SUM = re.compile(r"(?<![\w.])(\d{1,9})\s*(\+|-|\*|x|\u00d7|plus|minus|times)\s*(\d{1,9})(?![\w.])")
_STATEMENT = re.compile(r"^(?P<left>.+?)\s+(?:is|are|was|were)\s+(?P<right>.+?)[.!]?$")
_NAME = re.compile(r"\b[A-Z][\w'-]*(?:\s+[A-Z][\w'-]*)*")
_QUANTITY = re.compile(r"\bhow (?:many|much|old|long|far)\b|\bwhen\b|\byear\b|\bnumber\b", re.I)


def short_answer(question: str, context: str) -> str | None:
    """Find the answer to a question, in the context if it states one; None if it does not."""
    arithmetic = _SUM.search(question)
    if arithmetic:
        return str(_calculate(*arithmetic.groups()))
    asked = {word.lower() for word in topic_words(question)}
    best, best_score = "", 0
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", context):
        score = len(asked & {word.lower() for word in topic_words(sentence)})
        if score > best_score:
            best, best_score = sentence.strip(), score
    return _answer_in(best, question, asked) if best else None


def _calculate(left: str, operator: str, right: str) -> int:
    a, b = int(left), int(right)
    if operator in ("+", "plus"):
        return a + b
    return a - b if operator in ("-", "minus") else a * b


def _answer_in(sentence: str, question: str, asked: set[str]) -> str | None:
    number = re.search(r"\d[\d.,]*\d|\d", sentence)
    if number and _QUANTITY.search(question):
        return number.group()
    statement = _STATEMENT.match(sentence)
    if statement:
        left, right = statement.group("left"), statement.group("right")
        overlap = {side: len(asked & {w.lower() for w in topic_words(side)})
                   for side in (left, right)}  # fmt: skip
        return left if overlap[right] > overlap[left] else right
    names = [name for name in _NAME.findall(sentence) if name.lower() not in question.lower()]
    return names[-1] if names else None
