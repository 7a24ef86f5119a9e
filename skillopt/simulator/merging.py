"""The optimizer as merger and ranker of edits that its prompt lists."""

from __future__ import annotations

from typing import Any

from skillopt.simulator.prompt_sections import edits_wanted, json_arrays, section


def merge(user_text: str) -> dict[str, Any]:
    """Make edits that say the same one edit, and add up what supports them."""
    merged: dict[tuple[str, str, str], dict[str, Any]] = {}
    proposed = _edits(section(user_text, "proposed edits", "edits", "patches") or user_text)
    for edit in proposed:
        same = (_text(edit, "op"), _plain(_text(edit, "target")), _plain(_text(edit, "content")))
        source = "success" if edit.get("source_type") == "success" else "failure"
        known = merged.get(same)
        if known is None:
            merged[same] = {
                "op": _text(edit, "op"),
                "target": _text(edit, "target"),
                "content": _text(edit, "content"),
                "support_count": _support(edit),
                "source_type": source,
            }
        else:
            known["support_count"] += _support(edit)
            if source == "failure":
                known["source_type"] = source
    return {
        "reasoning": f"{len(proposed)} edits say {len(merged)} different things",
        "edits": list(merged.values()),
    }


def rank(user_text: str) -> dict[str, Any]:
    """Choose the edits with the most support, the earlier one first where they are equal."""
    edits = _edits(section(user_text, "edits", "proposed edits") or user_text)
    chosen = edits_wanted(user_text, len(edits))
    numbered = [(_index(edit, position), edit) for position, edit in enumerate(edits)]
    numbered.sort(key=lambda pair: -_support(pair[1]))
    return {
        "reasoning": "the edits that most attempts support",
        "selected_indices": [index for index, _ in numbered[:chosen]],
    }


def _edits(text: str) -> list[dict[str, Any]]:
    """Give every edit listed in a text, in its order."""
    return [
        edit for array in json_arrays(text) for edit in array if "op" in edit or "content" in edit
    ]


def _text(edit: dict[str, Any], name: str) -> str:
    value = edit.get(name)
    return value if isinstance(value, str) else ""


def _index(edit: dict[str, Any], position: int) -> int:
    index = edit.get("index")
    return index if isinstance(index, int) else position


def _support(edit: dict[str, Any]) -> int:
    """Read how many attempts support an edit, given as a number or as the list of them."""
    support = edit.get("support", edit.get("support_count"))
    if isinstance(support, list):
        return len(support)
    return support if isinstance(support, int) else 1


def _plain(text: str) -> str:
    return " ".join(text.casefold().removeprefix("- ").split())
