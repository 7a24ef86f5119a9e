"""One record per model call of a run: what was sent, what came back, how it was judged.

Records are for people. They are taken from results and blobs while those last; what has expired
is recorded as missing, and a ledger's score is kept even then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from skillopt.domain.item import SplitName
from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.messages import Message
from skillopt.domain.misread import in_short
from skillopt.domain.outcome import Committed
from skillopt.domain.results import CriterionResult
from skillopt.errors import StateCorrupt

RecordOutcome = Committed | Literal["missing", "left_out"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CallReceipt(_Record):
    """How a reply came about. `from_cache`: another run paid for it."""

    worker: str = ""
    seconds: float = 0.0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int = 0
    #: Whether tokens, and so the cost, are our own estimate.
    estimated: bool = False
    from_cache: bool


class _Call(_Record):
    #: "baseline", "step 3 / gate", "epoch 1 / gate", "final test" …
    stage: str
    #: None outside of steps.
    step: int | None
    #: The epoch whose end the call belongs to; None elsewhere.
    epoch_end: int | None = None
    outcome: RecordOutcome
    #: Why there is no score, no reply or no message, in words; "" if all is there.
    problem: str = ""
    #: What was sent; null if it is no longer stored.
    messages: tuple[Message, ...] | None = None
    reply: str | None = None
    finish_reason: str | None = None
    receipt: CallReceipt | None = None
    #: The backend that was asked, and the parameters that the request had.
    backend: str = ""
    params: dict[str, Any] = Field(default_factory=dict)


class RolloutRecord(_Call):
    """One attempt of the target at a task, and its judgement."""

    kind: Literal["rollout"] = "rollout"
    split: SplitName
    item: str
    sample: int
    skill: str
    rollout: str
    judgement: str | None
    hard: float | None = None
    soft: float | None = None
    tools_called: tuple[str, ...] = ()
    criteria: tuple[CriterionResult, ...] = ()
    feedback: str = ""
    #: Of a judge that is a model: all that it was asked and said, and what that took; null for
    #: others, and if it is no longer stored.
    judge_messages: tuple[Message, ...] | None = None
    judge_receipt: CallReceipt | None = None

    def matches(self, *, step: int | None, item: str | None, job: str | None) -> bool:
        jobs = [self.rollout, self.judgement or ""]
        return (
            step in (None, self.step)
            and item in (None, self.item)
            and (job is None or any(one.startswith(job) for one in jobs))
        )


class OptimizerRecord(_Call):
    """One call of the optimizer."""

    kind: Literal["optimizer"] = "optimizer"
    call: OptimizeStage
    #: "step 3 / reflect failure 0 / repair": what people see of it in the queue; each label of a
    #: run names one call.
    label: str
    #: None if the prompt can no longer be built.
    job: str | None
    #: The tasks the prompt shows.
    items: tuple[str, ...] = ()
    #: Name of the form that was asked for; a backend that cannot enforce one is told it in words.
    reply_schema: str = ""

    def matches(self, *, step: int | None, item: str | None, job: str | None) -> bool:
        return (
            step in (None, self.step)
            and (item is None or item in self.items)
            and (job is None or (self.job or "").startswith(job))
        )


CallRecord = RolloutRecord | OptimizerRecord
_RECORD: TypeAdapter[CallRecord] = TypeAdapter(Annotated[CallRecord, Field(discriminator="kind")])


def encode_records(records: Sequence[CallRecord]) -> bytes:
    return "".join(f"{record.model_dump_json()}\n" for record in records).encode()


def decode_record(line: bytes) -> CallRecord:
    try:
        return _RECORD.validate_json(line)
    except ValidationError as error:
        raise StateCorrupt(f"a stored record is not understood: {in_short(error)}") from error
