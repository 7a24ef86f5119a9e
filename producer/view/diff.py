"""What changed between two documents, as a coloured unified diff."""

from __future__ import annotations

import difflib

from rich.text import Text

from producer.view.printable import printable
from skillopt.domain.documents import Documents

_STYLES = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}
_NO_NEWLINE = "\\ No newline at end of file"


def skill_diff(
    before: str, after: str, *, before_name: str = "initial", after_name: str = "best"
) -> Text:
    """Give the difference of two documents; a sentence if they are equal."""
    if before == after:
        return Text(f"The {before_name} and the {after_name} document are the same.", style="dim")
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        fromfile=before_name,
        tofile=after_name,
    )
    shown = Text()
    for line in lines:
        body = line.removesuffix("\n")
        shown.append(printable(body) + "\n", style=_style(body))
        if not line.endswith("\n"):
            shown.append(_NO_NEWLINE + "\n", style="dim")
    shown.rstrip()
    return shown


def documents_diff(
    before: Documents, after: Documents, *, before_name: str = "initial", after_name: str = "best"
) -> Text:
    """Give the difference of two states of the documents: of the skill, and of the memory where
    there is one.
    """
    skill = skill_diff(before.skill, after.skill, before_name=before_name, after_name=after_name)
    if before.memory is None and after.memory is None:
        return skill
    memory = skill_diff(
        before.memory or "",
        after.memory or "",
        before_name=f"{before_name} memory",
        after_name=f"{after_name} memory",
    )
    changed = before.skill != after.skill, (before.memory or "") != (after.memory or "")
    shown = [text for text, differs in zip((skill, memory), changed, strict=True) if differs]
    return Text("\n").join(shown) if shown else skill


def _style(line: str) -> str:
    if line.startswith(("--- ", "+++ ")):
        return "bold"
    return _STYLES.get(line[:1], "")
