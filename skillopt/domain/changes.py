"""What an optimizer may propose: edits, suggestions for a rewrite, or whole documents.

Which tasks are behind a change is recorded by us, never asked of the model.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from skillopt.domain.edits import Edit, SourceType

SUGGESTION_TYPES = (
    "add_rule",
    "remove_rule",
    "merge_rules",
    "reorganize",
    "compress",
    "clarify",
)
Priority = Literal["high", "medium", "low"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Suggestion(_Record):
    """One thing a rewrite of the document should do."""

    type: str
    title: str = ""
    motivation: str = ""
    instruction: str
    priority_hint: Priority = "medium"
    source_type: SourceType = "failure"
    support: tuple[str, ...] = ()


class Rewrite(_Record):
    """A whole new text of the document."""

    title: str = ""
    change_summary: tuple[str, ...] = ()
    new_skill: str
    source_type: SourceType = "failure"
    support: tuple[str, ...] = ()


Change = Edit | Suggestion | Rewrite
