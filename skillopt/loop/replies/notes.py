"""Reminders: of analysts beside their changes, and condensed ones."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.json_reply import extract_objects, several
from skillopt.domain.skill import without_markers
from skillopt.domain.spec import Optimizer
from skillopt.errors import ReplyError
from skillopt.loop.replies.values import Reply, first_of, sort_of, storable

NOTES_KEY = "appendix_notes"
#: A reminder is a sentence or two; more of them than this nobody follows.
MOST_NOTE_CHARS = 1_000
MOST_NOTES = 200


class NotesReply(Reply):
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReadNotes:
    notes: tuple[str, ...]
    problems: tuple[str, ...]


def notes_wanted(stage: OptimizeStage, settings: Optimizer) -> bool:
    """Whether the analysts of a stage are asked for reminders."""
    if not settings.use_skill_aware_reflection:
        return False
    return stage != "reflect_success" or settings.skill_aware_appendix_source == "both"


def parse_notes(text: str) -> NotesReply:
    """Read condensed notes; raises ReplyError without a list that has at least one note."""
    objects = extract_objects(text, NOTES_KEY)
    listed = objects[-1][NOTES_KEY]
    if not isinstance(listed, list):
        raise ReplyError(f"{NOTES_KEY!r} must be a list of texts, not {sort_of(listed)}")
    read = read_notes(listed)
    if not read.notes:
        why = read.problems[0] if read.problems else "it is empty"
        raise ReplyError(f"{NOTES_KEY!r} must hold at least one note: {why}")
    problems = (*several(objects, NOTES_KEY, "the last one counts"), *read.problems)
    return NotesReply(notes=read.notes, problems=first_of(problems))


def read_notes(listed: object) -> ReadNotes:
    """Read notes that need not be there; each becomes one line of text."""
    if listed is None:
        return ReadNotes((), ())
    if not isinstance(listed, list):
        return ReadNotes((), (f"{NOTES_KEY} is {sort_of(listed)}, not a list",))
    notes: dict[str, None] = {}
    problems: list[str] = []
    for place, row in enumerate(listed):
        value = (row.get("note") or row.get("content")) if isinstance(row, dict) else row
        written = " ".join(storable(value).split())
        note = " ".join(without_markers(written).split()) if "<!--" in written else written
        if not isinstance(value, str):
            problems.append(f"{NOTES_KEY}[{place}] is {sort_of(row)}, not a text")
        elif not note:
            problems.append(f"{NOTES_KEY}[{place}] is empty")
        elif len(note) > MOST_NOTE_CHARS:
            problems.append(
                f"{NOTES_KEY}[{place}] has {len(note)} characters; {MOST_NOTE_CHARS} are the most"
            )
        elif len(notes) == MOST_NOTES:
            problems.append(f"{NOTES_KEY}[{place}] is one too many; {MOST_NOTES} are the most")
        else:
            notes[note] = None
            if note != written:
                problems.append(f"{NOTES_KEY}[{place}] had region markers; they are left out")
    return ReadNotes(tuple(notes), tuple(problems))
