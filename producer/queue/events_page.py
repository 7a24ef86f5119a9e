"""The events of a run's log, each with its words."""

from __future__ import annotations

import json

from producer.queue.models import EventRow
from producer.view.words import event_words
from skillopt.domain.events import decode_event
from skillopt.errors import StateCorrupt
from skillopt.state.ports import LogEntry


def event_row(entry: LogEntry) -> EventRow:
    """Give one entry; raises StateCorrupt for one that is not understood."""
    event = decode_event(entry.event)
    encoded = json.loads(entry.event)
    if not isinstance(encoded, dict):
        raise StateCorrupt(f"entry {entry.seq} of a log is no event")
    words = event_words(event)
    return EventRow(seq=entry.seq, at=entry.at, type=event.type, words=words, event=encoded)
