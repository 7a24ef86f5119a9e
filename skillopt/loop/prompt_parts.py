"""Pieces that several optimizer prompts share."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from skillopt.domain.changes import Change
from skillopt.domain.edits import Edit
from skillopt.domain.run import StepState

_TILDES = re.compile(r"^~{4,}", re.MULTILINE)


def section(title: str, content: str) -> str:
    return f"## {title}\n\n{content.strip()}\n"


def fenced(text: str) -> str:
    """Set a text apart by a fence longer than any the text itself has."""
    longest = max((len(run) for run in _TILDES.findall(text)), default=3)
    fence = "~" * max(4, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def cut(text: str, limit: int) -> str:
    """Keep the head and the tail of a long text and say how much is left out between them."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[-tail:]}"


def edit_rows(edits: Sequence[Change]) -> str:
    """Show edits as a JSON array; `support` is how many tasks are behind each."""
    rows = [
        {
            "index": index,
            "op": edit.op,
            "target": edit.target,
            "content": edit.content,
            "source_type": edit.source_type,
            "support": len(edit.support),
        }
        for index, edit in enumerate(edits)
        if isinstance(edit, Edit)
    ]
    return json.dumps(rows, ensure_ascii=False, indent=1)


def earlier_steps(steps: Sequence[StepState]) -> str:
    """Say what earlier steps of the epoch tried, and why it was not kept."""
    lines: list[str] = []
    for step in steps:
        number = step.started.step
        if step.skipped:
            lines.append(f"- Step {number} had no candidate ({step.skipped.reason}).")
        elif step.gated and step.selected:
            word = {"accept": "ACCEPTED", "reject": "REJECTED"}.get(step.gated.verdict, "undecided")
            lines.append(f"- Step {number} was {word}: {step.gated.reason}. Its edits:")
            lines += [
                f"  - {edit.op}: {json.dumps(edit.content or edit.target, ensure_ascii=False)}"
                for edit in step.selected.edits
                if isinstance(edit, Edit)
            ]
    return "\n".join(lines)
