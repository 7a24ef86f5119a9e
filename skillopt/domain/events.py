"""The events of a run: its append-only truth. Every artifact derives from them.

An event holds what was decided and why, never when or by whom: two runs that decide alike have
equal events. The log adds the time.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from skillopt import __version__
from skillopt.domain.changes import Change
from skillopt.domain.documents import Documents
from skillopt.domain.edits import EditReport
from skillopt.domain.measurement import Measurement
from skillopt.domain.misread import in_short, is_damaged
from skillopt.domain.reports import GroupReport, MergeReport, Pair
from skillopt.domain.spec import PairPolicy
from skillopt.domain.steering_events import (
    Cancelled,
    GaveUp,
    LeftOut,
    Paused,
    Record,
    Resumed,
    Retuned,
)
from skillopt.errors import NotUnderstood, StateCorrupt

#: What brought a candidate: a step's edits, or the guidance at the end of an epoch.
Source = Literal["step", "slow_update"]
#: "underpowered": it looks better, but no result of this size could have been accepted.
Verdict = Literal["accept", "reject", "underpowered", "indecisive"]


class RunCreated(Record):
    type: Literal["run_created"] = "run_created"
    run: str
    name: str
    plan: str
    skill: str


class Measured(Record):
    """A document was measured outside a gate: the baseline, a final test, or an arm of an A/A
    run, which begins with sample `arm * samples`.
    """

    type: Literal["measured"] = "measured"
    arm: int = 0
    measurement: Measurement


class StepStarted(Record):
    type: Literal["step_started"] = "step_started"
    step: int
    epoch: int
    skill: str
    items: tuple[str, ...]
    #: None: no limit.
    edit_budget: int | None


class Reflected(Record):
    """The batch was rolled out, judged and analysed."""

    type: Literal["reflected"] = "reflected"
    step: int
    batch: Measurement
    groups: tuple[GroupReport, ...]


class Merged(Record):
    type: Literal["merged"] = "merged"
    step: int
    edits: tuple[Change, ...]
    merges: tuple[MergeReport, ...] = ()
    blocked: tuple[Change, ...] = ()


class BudgetDecided(Record):
    """The optimizer chose how many edits this step applies (`lr_control_mode: autonomous`)."""

    type: Literal["budget_decided"] = "budget_decided"
    step: int
    edit_budget: int
    reasoning: str = ""
    confidence: float | None = None
    risk_notes: tuple[str, ...] = ()
    #: "fallback": no usable reply, the schedule decided.
    status: Literal["ok", "repaired", "fallback"]
    problem: str = ""


class Selected(Record):
    type: Literal["selected"] = "selected"
    step: int
    edits: tuple[Change, ...]
    how: Literal["all", "ranked", "repaired", "fallback", "none"]
    problem: str = ""


class Noted(Record):
    """The appendix that the step's candidate will have (skill-aware reflection)."""

    type: Literal["noted"] = "noted"
    step: int
    #: All notes, in order; those among them that are new.
    notes: tuple[str, ...]
    added: tuple[str, ...]
    #: "fallback": condensing brought nothing shorter.
    status: Literal["kept", "consolidated", "fallback"] = "kept"
    problem: str = ""


class Compared(Record):
    """Tasks rolled out with the document of the epoch before and with the present one."""

    type: Literal["compared"] = "compared"
    epoch: int
    previous: str
    current: str
    policy: PairPolicy
    #: Train tasks that were rolled out, in order.
    sampled: tuple[str, ...]
    #: The pairs that the policy keeps.
    pairs: tuple[Pair, ...]


class MetaLearned(Record):
    """What the optimizer remembers from now on about how to edit; the target never sees it."""

    type: Literal["meta_learned"] = "meta_learned"
    epoch: int
    content: str
    #: "kept": no usable reply, the memory stays as it was.
    status: Literal["ok", "repaired", "kept"]
    problem: str = ""


class Proposed(Record):
    """A candidate that differs from every state of the documents tried before."""

    type: Literal["proposed"] = "proposed"
    #: Of a slow update: the last step of its epoch.
    step: int
    source: Source = "step"
    parent: str
    skill: str
    text: str
    memory: str | None = None
    reports: tuple[EditReport, ...] = ()
    how: Literal["edits", "rewrite", "compressed", "guidance"] = "edits"
    #: Training tasks whose own text the candidate repeats and its parent does not.
    copied_from: tuple[str, ...] = ()
    problem: str = ""

    @property
    def documents(self) -> Documents:
        return Documents(skill=self.text, memory=self.memory)


class Skipped(Record):
    """A step, or a slow update, without a candidate."""

    type: Literal["skipped"] = "skipped"
    step: int
    source: Source = "step"
    reason: Literal[
        "no_edits",
        "no_change",
        "already_rejected",
        "too_long",
        "no_rewrite",
        "no_content",
        "copied",
    ]
    detail: str = ""
    reports: tuple[EditReport, ...] = ()


class Gated(Record):
    """The gate's verdict on a candidate: the only way `best` changes.

    `early`: the measurement holds just the items that decided; the others could not have changed
    the verdict.
    """

    type: Literal["gated"] = "gated"
    step: int
    source: Source = "step"
    skill: str
    verdict: Verdict
    #: The candidate becomes current whatever the verdict.
    forced: bool = False
    new_best: bool = False
    early: bool = False
    #: With `significance`: the chance of such a gain between equal documents, and the part of the
    #: run's error that this gate may spend.
    p_value: float | None = None
    level: float | None = None
    metric: str
    #: Both arms on the items that both have a score for.
    candidate_score: float | None
    current_score: float | None
    pairs: int
    improved: tuple[str, ...] = ()
    regressed: tuple[str, ...] = ()
    reason: str
    measurement: Measurement

    @property
    def adopted(self) -> bool:
        """Whether the candidate is the current document from here on."""
        return self.verdict == "accept" or (self.forced and self.verdict != "indecisive")


class Finished(Record):
    type: Literal["finished"] = "finished"
    reason: Literal["completed", "saturated", "patience", "target_score", "evaluated"]
    best: str


Event = (
    RunCreated
    | Measured
    | StepStarted
    | Reflected
    | Merged
    | BudgetDecided
    | Selected
    | Noted
    | Compared
    | MetaLearned
    | Proposed
    | Skipped
    | Gated
    | LeftOut
    | GaveUp
    | Paused
    | Resumed
    | Retuned
    | Cancelled
    | Finished
)
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


def encode_event(event: Event) -> str:
    return event.model_dump_json()


def decode_event(encoded: str) -> Event:
    """Read an event; raises NotUnderstood for one of another version, StateCorrupt for none."""
    try:
        return _EVENT.validate_json(encoded)
    except ValidationError as error:
        if is_damaged(error):
            raise StateCorrupt(
                f"an event of the log is damaged: {in_short(error)}; `skillopt restore RUN_DIR` "
                "rebuilds a run from its folder"
            ) from error
        raise NotUnderstood(
            f"an event of the log is not understood by version {__version__}: {in_short(error)}; "
            "another version wrote it: continue the run with that one, or upgrade this one"
        ) from error
