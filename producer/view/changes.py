"""What an optimizer proposed, in words: edits, suggestions for a rewrite, whole rewrites."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from producer.view import numbers
from producer.view.printable import indented, one_line, safe
from skillopt.domain.changes import Change, Rewrite, Suggestion
from skillopt.domain.edits import Edit, EditReport


def change_count(changes: Sequence[Change]) -> str:
    """Count changes under the name of their form."""
    return numbers.plural(len(changes), change_noun(changes))


def change_noun(changes: Sequence[Change]) -> str:
    if any(isinstance(change, Suggestion) for change in changes):
        return "suggestion"
    return "rewrite" if any(isinstance(change, Rewrite) for change in changes) else "edit"


def change_lines(
    changes: Sequence[Change], reports: Sequence[EditReport] = ()
) -> list[RenderableType]:
    """Give each change in full, with what became of it and the tasks behind it."""
    if not changes:
        return [Text("none", style="dim")]
    by_index = {report.index: report for report in reports}
    parts: list[RenderableType] = []
    for index, change in enumerate(changes):
        title, style = _title(change, by_index.get(index))
        parts.append(safe(f"{index + 1}. {title}", style))
        if change.support:
            parts.append(safe(f"   because of: {', '.join(change.support)}", "dim"))
        parts += _copies(change)
        parts += [indented(text, "   ") for text in _texts(change)]
    return parts


def blocked_lines(changes: Sequence[Change]) -> list[RenderableType]:
    """Give what the copy guard took out, and which tasks it repeats."""
    return [
        safe(f"blocked: {_brief(change)}{_copied_words(change)}", "yellow") for change in changes
    ]


def _title(change: Change, report: EditReport | None) -> tuple[str, str]:
    if isinstance(change, Suggestion):
        about = f": {one_line(change.title)}" if change.title else ""
        kind = f"{change.type} ({change.priority_hint}, {change.source_type}){about}"
        return kind, ""
    if isinstance(change, Rewrite):
        about = f": {one_line(change.title)}" if change.title else ""
        return f"rewrite ({change.source_type}){about}", ""
    became = report.status.replace("_", " ") if report else "not applied yet"
    where = "" if change.document == "skill" else f" of the {change.document}"
    style = "green" if report and report.applied else "yellow"
    return f"{change.op}{where} ({change.source_type}): {became}", style


def _texts(change: Change) -> list[str]:
    if isinstance(change, Suggestion):
        motive = [f"because: {change.motivation}"] if change.motivation else []
        return [*motive, f"do: {change.instruction}"]
    if isinstance(change, Rewrite):
        size = numbers.plural(len(change.new_skill), "character")
        return [*(f"- {one}" for one in change.change_summary), f"a whole text of {size}"]
    target = [f"target:  {change.target}"] if change.target else []
    return [*target, *([f"content: {change.content}"] if change.content else [])]


def _brief(change: Change) -> str:
    if isinstance(change, Suggestion):
        return f"suggestion {one_line(change.instruction)!r}"
    if isinstance(change, Rewrite):
        return f"rewrite {one_line(change.title)!r}"
    return f"{change.op} {one_line(change.content or change.target)!r}"


def _copies(change: Change) -> list[RenderableType]:
    words = _copied_words(change)
    return [safe(f"   copied{words.removeprefix(', copied')}", "yellow")] if words else []


def _copied_words(change: Change) -> str:
    copied = change.copied_from if isinstance(change, Edit) else ()
    return f", copied from task {', '.join(copied)}" if copied else ""
