"""What came of an analysis, a merge, a comparison: the rows that events are made of."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from skillopt.domain.changes import Change

GroupKind = Literal["failure", "success", "contrast"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GroupReport(_Record):
    """One analyst group: which tasks it saw, what it proposed, or why nothing came of it."""

    shard: int
    kind: GroupKind
    items: tuple[str, ...]
    status: Literal["ok", "repaired", "dropped"]
    problem: str = ""
    summary: tuple[str, ...] = ()
    edits: tuple[Change, ...] = ()
    #: What the copy guard took out.
    blocked: tuple[Change, ...] = ()
    #: Reminders for rules that exist and were not followed.
    notes: tuple[str, ...] = ()


class MergeReport(_Record):
    branch: Literal["failure", "success", "final"]
    level: int
    inputs: int
    status: Literal["merged", "repaired", "fallback"]
    problem: str = ""


class Pair(_Record):
    """What became of a task between two documents, a sample of each."""

    item: str
    change: Literal["improved", "regressed", "persistent_fail", "stable_success"]
