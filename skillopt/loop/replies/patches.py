"""Replies that propose changes: an analyst's, and a merge of several analysts'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from skillopt.domain.json_reply import extract_objects, several, whole_objects
from skillopt.domain.spec import UpdateMode
from skillopt.errors import ReplyError
from skillopt.loop.replies.notes import NOTES_KEY, read_notes
from skillopt.loop.replies.rows import ProposedChange, ReadRows, read_rows, row_of
from skillopt.loop.replies.values import Reply, first_of, reasoning_of, sort_of, storable

#: Where a reply of each mode lists its changes.
CHANGES_KEY: dict[UpdateMode, str] = {
    "patch": "edits",
    "rewrite_from_suggestions": "revise_suggestions",
    "full_rewrite_minibatch": "skill_candidates",
}
_SUMMARY_ROWS = 20
_SUMMARY_CHARS = 500
_TOGETHER = "they are read together"

T = TypeVar("T")


class AnalystReply(Reply):
    """`summary` holds one line for each failure or success pattern the analyst names."""

    reasoning: str = ""
    summary: tuple[str, ...] = ()
    changes: tuple[ProposedChange, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class MergeReply(Reply):
    reasoning: str = ""
    changes: tuple[ProposedChange, ...] = ()
    problems: tuple[str, ...] = ()


def parse_analyst(text: str, mode: UpdateMode) -> AnalystReply:
    """Read an analyst's reply; raises ReplyError without a `patch` that lists changes."""
    objects = extract_objects(text, "patch")
    read = [_read_patch(reply["patch"], mode) for reply in reversed(objects)]
    usable = [rows for rows in read if isinstance(rows, ReadRows)]
    wrong = [str(error) for error in read if isinstance(error, ReplyError)]
    if not usable:
        raise ReplyError(wrong[0])
    last = objects[-1]["patch"]
    notes = [read_notes(reply.get(NOTES_KEY)) for reply in reversed(objects)]
    problems = [
        *several(objects, "patch", _TOGETHER),
        *wrong,
        *(problem for rows in usable for problem in rows.problems),
        *(problem for found in notes for problem in found.problems),
    ]
    return AnalystReply(
        reasoning=reasoning_of(last) if isinstance(last, dict) else "",
        summary=_distinct(line for reply in reversed(objects) for line in _summary(reply)),
        changes=_distinct(change for rows in usable for change in rows.changes),
        notes=_distinct(note for found in notes for note in found.notes),
        problems=first_of(problems),
    )


def parse_merge(text: str, mode: UpdateMode) -> MergeReply:
    """Read a merge reply; raises ReplyError without a list of changes."""
    key = CHANGES_KEY[mode]
    objects = extract_objects(text, key)
    read = [_read_list(reply[key], key, mode) for reply in reversed(objects)]
    usable = [rows for rows in read if isinstance(rows, ReadRows)]
    wrong = [str(error) for error in read if isinstance(error, ReplyError)]
    if not usable:
        raise ReplyError(wrong[0])
    problems = [
        *several(objects, key, _TOGETHER),
        *wrong,
        *(problem for rows in usable for problem in rows.problems),
    ]
    return MergeReply(
        reasoning=reasoning_of(objects[-1]),
        changes=_distinct(change for rows in usable for change in rows.changes),
        problems=first_of(problems),
    )


def salvaged_analyst(text: str, mode: UpdateMode) -> AnalystReply | None:
    """Give the whole changes within a reply that is broken or cut off; None if it has none.

    A last resort: what stood after the break is lost.
    """
    found: list[ProposedChange] = []
    waiting: list[Any] = list(whole_objects(text))[::-1]
    while waiting:
        value = waiting.pop()
        change = row_of(value, mode)
        if change is not None:
            found.append(change)
        elif isinstance(value, dict):
            waiting.extend(reversed(value.values()))
        elif isinstance(value, list):
            waiting.extend(reversed(value))
    return AnalystReply(changes=_distinct(found)) if found else None


def _read_patch(patch: object, mode: UpdateMode) -> ReadRows | ReplyError:
    key = CHANGES_KEY[mode]
    if not isinstance(patch, dict):
        told = f"'patch' must be an object with a list {key!r}, not {sort_of(patch)}"
        return ReplyError(told)
    return _read_list(patch.get(key), f"patch.{key}", mode)


def _read_list(listed: object, where: str, mode: UpdateMode) -> ReadRows | ReplyError:
    try:
        return read_rows(listed, where, mode)
    except ReplyError as error:
        return error


def _summary(reply: dict[str, Any]) -> Iterator[str]:
    for name in ("failure_summary", "success_patterns"):
        rows = reply.get(name)
        for row in rows[:_SUMMARY_ROWS] if isinstance(rows, list) else []:
            parts = (
                [row.get("failure_type"), row.get("description")]
                if isinstance(row, dict)
                else [row]
            )
            line = ": ".join(filter(None, map(storable, parts)))
            if line:
                yield line[:_SUMMARY_CHARS]


def _distinct(values: Iterator[T] | list[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))
