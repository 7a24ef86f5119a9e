"""Replies that choose: which edits, and how many."""

from __future__ import annotations

import re

from skillopt.domain.json_reply import extract_objects, several
from skillopt.errors import ReplyError
from skillopt.loop.replies.values import Reply, first_of, lines_of, reasoning_of, shown, sort_of

_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.0{1,18})?")
_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d{1,18})?")
_RISK_ROWS = 20
_RISK_CHARS = 500
_LAST = "the last one counts"


class RankReply(Reply):
    """`selected_indices` are distinct and in range, most important first."""

    reasoning: str = ""
    selected_indices: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()


class LearningRateReply(Reply):
    """How many edits to apply, from 0 to as many as there are."""

    learning_rate: int
    reasoning: str = ""
    #: From 0 to 1; None if the model gave none.
    confidence: float | None = None
    risk_notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def parse_rank(text: str, n_edits: int) -> RankReply:
    """Read a ranking of `n_edits` edits.

    Raises ReplyError without a list of indices, or if none of those listed is valid.
    """
    objects = extract_objects(text, "selected_indices")
    reply = objects[-1]
    listed = reply["selected_indices"]
    if not isinstance(listed, list):
        raise ReplyError(
            f"'selected_indices' must be a list of whole numbers, not {sort_of(listed)}"
        )
    selected: dict[int, None] = {}
    problems: list[str] = []
    for place, index in enumerate(listed):
        if type(index) is not int or not 0 <= index < n_edits:
            problems.append(f"selected_indices[{place}] is {shown(index)}, not an edit's index")
        elif index in selected:
            problems.append(f"selected_indices[{place}] repeats {index}")
        else:
            selected[index] = None
    if problems and not selected:
        raise ReplyError(
            f"'selected_indices' must hold whole numbers from 0 to {n_edits - 1}: {problems[0]}"
        )
    return RankReply(
        reasoning=reasoning_of(reply),
        selected_indices=tuple(selected),
        problems=first_of([*several(objects, "selected_indices", _LAST), *problems]),
    )


def parse_learning_rate(text: str, available: int) -> LearningRateReply:
    """Read how many of the `available` edits to apply; more than there are counts as all.

    Raises ReplyError if it is no whole number.
    """
    objects = extract_objects(text, "learning_rate")
    reply = objects[-1]
    said = reply["learning_rate"]
    wanted = _whole(said)
    if wanted is None:
        raise ReplyError(
            f"'learning_rate' must be a whole number from 0 to {available}, not {shown(said)}"
        )
    problems = list(several(objects, "learning_rate", _LAST))
    chosen = min(max(wanted, 0), available)
    if chosen != wanted:
        problems.append(f"learning_rate {shown(said)} is read as {chosen}")
    return LearningRateReply(
        learning_rate=chosen,
        reasoning=reasoning_of(reply),
        confidence=_confidence(reply.get("confidence")),
        risk_notes=lines_of(reply.get("risk_notes"), _RISK_ROWS, _RISK_CHARS),
        problems=first_of(problems),
    )


def _whole(value: object) -> int | None:
    """Give a whole number that was written as a number or as a text; a boolean is none."""
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    if type(value) is int:
        return value
    return int(value) if type(value) is float and value.is_integer() else None


def _confidence(value: object) -> float | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if type(value) not in (int, float):
        return None
    assert isinstance(value, int | float)
    return min(max(float(value), 0.0), 1.0)
