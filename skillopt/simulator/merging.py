"""The optimizer as merger and ranker of the changes that its prompt lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

from skillopt.simulator.document_lines import add_lines
from skillopt.simulator.prompt_sections import edits_wanted, json_objects, section
from skillopt.simulator.proposals import form_in
from skillopt.simulator.shown import read_prompt

Row = dict[str, Any]


def merge(user_text: str, asked: Collection[str]) -> dict[str, Any]:
    """Merge what is proposed, in the form that is asked for."""
    key, _ = form_in(asked)
    if key == "skill_candidates":
        return _merge_documents(user_text)
    if key == "revise_suggestions":
        rows = _listed(user_text, "proposed suggestions", "suggestions", telling="instruction")
        return _merged(key, rows, _suggestion, ("type", "instruction"))
    rows = _listed(user_text, "proposed edits", "edits", "patches", telling="content")
    return _merged(key, rows, _edit, ("op", "target", "content", "document"))


def rank(user_text: str) -> dict[str, Any]:
    """Choose the changes with the most support, the earlier one first where they are equal."""
    titles = ("edits", "suggestions", "proposed edits")
    rows = _listed(user_text, *titles, telling="content") or _listed(
        user_text, *titles, telling="instruction"
    )
    numbered = [(_index(row, position), row) for position, row in enumerate(rows)]
    numbered.sort(key=lambda pair: -_support(pair[1]))
    return {
        "reasoning": "the changes that most attempts support",
        "selected_indices": [index for index, _ in numbered[: edits_wanted(user_text, len(rows))]],
    }


def learning_rate(user_text: str, hard: float | None, usual: int) -> int:
    """Say how many of the listed changes to apply: all, or the better half if most goes well.

    `usual` is for a prompt that lists none.
    """
    titles = ("merged edits", "merged suggestions", "merged rewrites")
    said = next((text for title in titles if (text := section(user_text, title))), None)
    if said is None:
        return usual
    rows = json_objects(said)
    return len(rows) if hard is None or hard < 0.5 else -(-len(rows) // 2)


def _listed(user_text: str, *titles: str, telling: str) -> list[Row]:
    """Give every row that a prompt lists, in its order."""
    text = section(user_text, *titles) or user_text
    return [row for row in json_objects(text) if telling in row or "op" in row]


def _merged(
    key: str, rows: Sequence[Row], shape: Callable[[Row], Row], distinct_by: Sequence[str]
) -> dict[str, Any]:
    """Make rows that say the same one row, and add up what supports them."""
    merged: dict[tuple[str, ...], Row] = {}
    for row in rows:
        shaped = shape(row)
        same = tuple(_plain(_text(shaped, name)) for name in distinct_by)
        source = "success" if row.get("source_type") == "success" else "failure"
        known = merged.get(same)
        if known is None:
            merged[same] = {**shaped, "support_count": _support(row), "source_type": source}
        else:
            known["support_count"] += _support(row)
            if source == "failure":
                known["source_type"] = source
    return {
        "reasoning": f"{len(rows)} proposals say {len(merged)} different things",
        key: list(merged.values()),
    }


def _edit(row: Row) -> Row:
    shaped = {name: _text(row, name) for name in ("op", "target", "content")}
    if _text(row, "document"):
        shaped["document"] = _text(row, "document")
    return shaped


def _suggestion(row: Row) -> Row:
    names = ("type", "title", "motivation", "instruction", "priority_hint")
    return {name: _text(row, name) for name in names}


def _merge_documents(user_text: str) -> dict[str, Any]:
    """Make one document of several: what one of them added is in it, what one dropped is not."""
    text = section(user_text, "proposed rewrites", "rewrites") or user_text
    rows = [row for row in json_objects(text) if _text(row, "new_skill").strip()]
    if not rows:
        return {"reasoning": "no document was proposed", "skill_candidates": []}
    proposed = [_text(row, "new_skill") for row in rows]
    before = set(read_prompt(user_text).text.splitlines())
    kept_by = Counter(line for text in proposed for line in set(text.splitlines()))
    dropped = {line for line in before if line.strip() and kept_by[line] < len(proposed)}
    kept = [line for line in proposed[0].splitlines() if line not in dropped]
    known = {_plain(line) for line in (*before, *kept)}
    added: dict[str, str] = {}
    for line in (line for text in proposed[1:] for line in text.splitlines()):
        if _plain(line) not in known:
            added.setdefault(_plain(line), line)
    summaries = [line for row in rows for line in row.get("change_summary") or ()]
    candidate = {
        "title": "one document of all that were proposed",
        "change_summary": list(dict.fromkeys(line for line in summaries if isinstance(line, str))),
        "new_skill": add_lines("\n".join(kept), list(added.values())),
        "support_count": sum(map(_support, rows)),
        "source_type": _text(rows[0], "source_type") or "failure",
    }
    return {
        "reasoning": f"{len(rows)} documents are one, with {len(added)} lines of the others",
        "skill_candidates": [candidate],
    }


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _index(row: Row, position: int) -> int:
    index = row.get("index")
    return index if isinstance(index, int) else position


def _support(row: Row) -> int:
    """Read how many attempts support a change, given as a number or as the list of them."""
    support = row.get("support", row.get("support_count"))
    if isinstance(support, list):
        return len(support)
    return support if isinstance(support, int) else 1


def _plain(text: str) -> str:
    return " ".join(text.casefold().removeprefix("- ").split())
