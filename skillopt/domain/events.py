"""The events of a run: its append-only truth. Every artifact derives from them.

An event holds what was decided and why, never when or by whom: two runs that decide alike have
equal events. The log adds the time.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from skillopt.domain.edits import Edit, EditReport
from skillopt.domain.item import SplitName
from skillopt.domain.spec import Budget
from skillopt.errors import StateCorrupt


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ItemScore(_Record):
    """One item's score, the mean over its samples.

    `scored` items have both values; `invalid` and `missing` ones have none.
    """

    status: Literal["scored", "invalid", "missing"]
    hard: float | None = None
    soft: float | None = None


class Measurement(_Record):
    """A document on a set of items. Means are over scored items and null if there are none."""

    skill: str
    split: SplitName
    items: dict[str, ItemScore]

    @property
    def scored(self) -> list[ItemScore]:
        return [score for score in self.items.values() if score.status == "scored"]

    @property
    def n(self) -> int:
        return len(self.scored)

    @property
    def coverage(self) -> float:
        """Scored items as a share of those that can be scored at all."""
        valid = sum(score.status != "invalid" for score in self.items.values())
        return self.n / valid if valid else 0.0

    @property
    def hard(self) -> float | None:
        return _mean([score.hard for score in self.scored if score.hard is not None])

    @property
    def soft(self) -> float | None:
        return _mean([score.soft for score in self.scored if score.soft is not None])


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


class GroupReport(_Record):
    """One analyst group: which tasks it saw, what it proposed, or why nothing came of it."""

    shard: int
    kind: Literal["failure", "success"]
    items: tuple[str, ...]
    status: Literal["ok", "repaired", "dropped"]
    problem: str = ""
    summary: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()


class MergeReport(_Record):
    branch: Literal["failure", "success", "final"]
    level: int
    inputs: int
    status: Literal["merged", "repaired", "fallback"]
    problem: str = ""


class RunCreated(_Record):
    type: Literal["run_created"] = "run_created"
    run: str
    name: str
    plan: str
    skill: str


class Measured(_Record):
    """A document was measured outside a gate: the baseline, or a final test."""

    type: Literal["measured"] = "measured"
    measurement: Measurement


class StepStarted(_Record):
    type: Literal["step_started"] = "step_started"
    step: int
    epoch: int
    skill: str
    items: tuple[str, ...]
    edit_budget: int


class Reflected(_Record):
    """The batch was rolled out, judged and analysed."""

    type: Literal["reflected"] = "reflected"
    step: int
    batch: Measurement
    groups: tuple[GroupReport, ...]


class Merged(_Record):
    type: Literal["merged"] = "merged"
    step: int
    edits: tuple[Edit, ...]
    merges: tuple[MergeReport, ...] = ()


class Selected(_Record):
    type: Literal["selected"] = "selected"
    step: int
    edits: tuple[Edit, ...]
    how: Literal["all", "ranked", "repaired", "fallback", "none"]
    problem: str = ""


class Proposed(_Record):
    """A candidate text that differs from every text tried before."""

    type: Literal["proposed"] = "proposed"
    step: int
    parent: str
    skill: str
    text: str
    reports: tuple[EditReport, ...]


class Skipped(_Record):
    """A step without a candidate."""

    type: Literal["skipped"] = "skipped"
    step: int
    reason: Literal["no_edits", "no_change", "already_rejected", "too_long"]
    detail: str = ""
    reports: tuple[EditReport, ...] = ()


class Gated(_Record):
    """The gate's verdict on a candidate: the only way `best` changes."""

    type: Literal["gated"] = "gated"
    step: int
    skill: str
    verdict: Literal["accept", "reject", "indecisive"]
    new_best: bool = False
    metric: str
    #: Both arms on the items that both have a score for.
    candidate_score: float | None
    current_score: float | None
    pairs: int
    improved: tuple[str, ...] = ()
    regressed: tuple[str, ...] = ()
    reason: str
    measurement: Measurement


class GaveUp(_Record):
    """Jobs that cannot be run for now: job -> reason. They have no score, not a zero."""

    type: Literal["gave_up"] = "gave_up"
    jobs: dict[str, str]


class Paused(_Record):
    type: Literal["paused"] = "paused"
    why: Literal["budget", "infrastructure", "coverage", "requested"]
    detail: str


class Resumed(_Record):
    """The run goes on; jobs given up before are tried again, under this budget from now on."""

    type: Literal["resumed"] = "resumed"
    budget: Budget = Budget()


class Finished(_Record):
    type: Literal["finished"] = "finished"
    reason: Literal["completed", "saturated", "patience", "target_score", "evaluated"]
    best: str


Event = (
    RunCreated
    | Measured
    | StepStarted
    | Reflected
    | Merged
    | Selected
    | Proposed
    | Skipped
    | Gated
    | GaveUp
    | Paused
    | Resumed
    | Finished
)
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


def encode_event(event: Event) -> str:
    return event.model_dump_json()


def decode_event(encoded: str) -> Event:
    try:
        return _EVENT.validate_json(encoded)
    except ValidationError as error:
        raise StateCorrupt(f"an event of the log is not understood: {error}") from error
