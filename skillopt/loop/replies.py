"""What optimizer models answer, read from their text.

A reply whose frame is wrong raises ReplyError, with a sentence that can be put before the model
again. Within a right frame, what is usable is kept and the rest is listed in `problems`. How many
attempts support an edit is not read from the reply: we know it, the model guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from skillopt.domain.edits import OPS
from skillopt.errors import ReplyError
from skillopt.loop.json_reply import extract_object

_PROBLEMS = 10
_SUMMARY_ROWS = 20
_SUMMARY_CHARS = 500
_SHOWN_CHARS = 40


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProposedEdit(_Reply):
    """An edit as a model proposes it, complete for its operation."""

    op: str
    target: str = ""
    content: str = ""


class AnalystReply(_Reply):
    """`summary` holds one line for each failure or success pattern the analyst names."""

    reasoning: str = ""
    summary: tuple[str, ...] = ()
    edits: tuple[ProposedEdit, ...] = ()
    problems: tuple[str, ...] = ()


class MergeReply(_Reply):
    reasoning: str = ""
    edits: tuple[ProposedEdit, ...] = ()
    problems: tuple[str, ...] = ()


class RankReply(_Reply):
    """`selected_indices` are distinct and in range, most important first."""

    reasoning: str = ""
    selected_indices: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()


def parse_analyst(text: str) -> AnalystReply:
    """Read an analyst's reply; raises ReplyError without a `patch` that has a list of edits."""
    reply = extract_object(text, "patch")
    patch = reply["patch"]
    if not isinstance(patch, dict):
        raise ReplyError(f"'patch' must be an object with a list 'edits', not {_sort(patch)}")
    read = _read_edits(patch.get("edits"), "patch.edits")
    return AnalystReply(
        reasoning=_text(patch.get("reasoning")),
        summary=_summary(reply),
        edits=read.edits,
        problems=read.problems,
    )


def parse_merge(text: str) -> MergeReply:
    """Read a merge reply; raises ReplyError without a list of edits."""
    reply = extract_object(text, "edits")
    read = _read_edits(reply["edits"], "edits")
    return MergeReply(
        reasoning=_text(reply.get("reasoning")), edits=read.edits, problems=read.problems
    )


def parse_rank(text: str, n_edits: int) -> RankReply:
    """Read a ranking of `n_edits` edits.

    Raises ReplyError without a list of indices, or if none of those listed is valid.
    """
    reply = extract_object(text, "selected_indices")
    listed = reply["selected_indices"]
    if not isinstance(listed, list):
        raise ReplyError(f"'selected_indices' must be a list of whole numbers, not {_sort(listed)}")
    selected: list[int] = []
    problems: list[str] = []
    for place, index in enumerate(listed):
        if type(index) is not int or not 0 <= index < n_edits:
            problems.append(f"selected_indices[{place}] is {_shown(index)}, not an edit's index")
        elif index in selected:
            problems.append(f"selected_indices[{place}] repeats {index}")
        else:
            selected.append(index)
    if problems and not selected:
        raise ReplyError(
            f"'selected_indices' must hold whole numbers from 0 to {n_edits - 1}: {problems[0]}"
        )
    return RankReply(
        reasoning=_text(reply.get("reasoning")),
        selected_indices=tuple(selected),
        problems=_first(problems),
    )


@dataclass(frozen=True)
class _Read:
    edits: tuple[ProposedEdit, ...]
    problems: tuple[str, ...]


def _read_edits(listed: object, where: str) -> _Read:
    if not isinstance(listed, list):
        raise ReplyError(f"{where!r} must be a list of edits, not {_sort(listed)}")
    edits: list[ProposedEdit] = []
    problems: list[str] = []
    for place, row in enumerate(listed):
        edit = _edit(row)
        if isinstance(edit, ProposedEdit):
            edits.append(edit)
        else:
            problems.append(f"{where}[{place}] {edit}")
    return _Read(tuple(edits), _first(problems))


def _edit(row: object) -> ProposedEdit | str:
    """Give the edit, or complete the sentence "edit n …" with what is wrong with it."""
    if not isinstance(row, dict):
        return f"is {_sort(row)}, not an object"
    op = row.get("op")
    known = _known_op(op)
    if known is None:
        return f"has the op {_shown(op)}; use one of {', '.join(OPS)}"
    texts = {}
    for name in ("target", "content"):
        value = "" if row.get(name) is None else row[name]
        if not isinstance(value, str):
            return f"has {_sort(value)} as {name}, not a text"
        if not _is_unicode(value):
            return f"has a {name} that is not valid Unicode"
        texts[name] = value
    if known != "append" and not texts["target"].strip():
        return f"is {known!r} without a target"
    if known != "delete" and not texts["content"].strip():
        return f"is {known!r} without content"
    return ProposedEdit(op=known, target=texts["target"], content=texts["content"])


def _known_op(op: object) -> str | None:
    word = op.strip().casefold().replace("-", "_").replace(" ", "_") if isinstance(op, str) else ""
    return word if word in OPS else None


def _first(problems: list[str]) -> tuple[str, ...]:
    """Keep what a person would read of a list of problems."""
    left_out = len(problems) - _PROBLEMS
    more = [f"and {left_out} more"] if left_out > 0 else []
    return (*problems[:_PROBLEMS], *more)


def _summary(reply: dict[str, Any]) -> tuple[str, ...]:
    lines = []
    for name in ("failure_summary", "success_patterns"):
        rows = reply.get(name)
        for row in rows if isinstance(rows, list) else []:
            parts = (
                [row.get("failure_type"), row.get("description")]
                if isinstance(row, dict)
                else [row]
            )
            line = ": ".join(filter(None, map(_text, parts)))
            if line:
                lines.append(line[:_SUMMARY_CHARS])
    return tuple(lines[:_SUMMARY_ROWS])


def _text(value: object) -> str:
    """Give a text that can be stored; anything that is no text counts as none."""
    return value.encode(errors="replace").decode().strip() if isinstance(value, str) else ""


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _sort(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return _sort(value)
    shown = repr(value)
    return shown if len(shown) <= _SHOWN_CHARS else shown[: _SHOWN_CHARS - 1] + "…"
