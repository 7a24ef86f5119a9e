"""Notes of the appendix: short reminders, one list item each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from skillopt.domain.regions import without_markers

_BULLET = re.compile(r"[ \t]*[-*+](?:[ \t]+|$)")
_LEADING_BULLETS = re.compile(r"(?:[-*+](?: |$))*")
_END_MARKS = " .,;:!?…。！？"  # noqa: RUF001 - full-width marks end notes as well
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")


def notes_in(appendix: str | None) -> tuple[str, ...]:
    """Read the notes of an appendix: list items, and paragraphs that stand for themselves.

    Headings are no notes.
    """
    notes: list[list[str]] = []
    open_note = False
    for line in (appendix or "").splitlines():
        if not line.strip() or _HEADING.match(line):
            open_note = False
        elif open_note and not _BULLET.match(line):
            notes[-1].append(line)
        else:
            notes.append([line])
            open_note = True
    return tuple(note for note in (_plain(" ".join(lines)) for lines in notes) if note)


def render_notes(notes: Iterable[str]) -> str:
    """Write notes as a list; "" for none. `notes_in` reads it back."""
    return "\n".join(f"- {note}" for note in map(_plain, notes) if note)


def add_notes(
    existing: Sequence[str], proposed: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give all notes, and those that are new: not just another spelling of one before."""
    known = {_sameness(note) for note in existing}
    added: list[str] = []
    for note in map(_plain, proposed):
        sameness = _sameness(note)
        if sameness and sameness not in known:
            known.add(sameness)
            added.append(note)
    return (*existing, *added), tuple(added)


def _plain(note: str) -> str:
    """Bring a note into one line without markers and bullets."""
    line = " ".join(without_markers(note).split())
    bullets = _LEADING_BULLETS.match(line)
    return line[bullets.end() :] if bullets else line


def _sameness(note: str) -> str:
    """Give what two spellings of one note share: not case, spaces or the mark at its end."""
    return " ".join(note.casefold().split()).rstrip(_END_MARKS)
