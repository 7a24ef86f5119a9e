"""What a finished job leaves behind: the bodies of results.

The digest of a body is what a ledger pins; bodies are small, trajectories are blobs.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from skillopt.domain.fingerprint import digest


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json"))


class ReplyBody(_Body):
    """What a model answered, to a task or to an optimizer prompt."""

    kind: Literal["reply"] = "reply"
    text: str
    finish_reason: str = "stop"
    tools_called: tuple[str, ...] = ()
    #: Blob of the messages that were sent.
    trajectory: str | None = None

    @property
    def as_judged(self) -> ReplyBody:
        """What judges are shown of it: not the conversation, in which the document is, too, so that
        the same answer to a task is judged once, whichever document it was given with.
        """
        return self.model_copy(update={"trajectory": None})


class CriterionResult(_Body):
    """One criterion of a judge: what was asked in plain words, and whether it held."""

    kind: Literal["criterion"] = "criterion"
    name: str
    requirement: str
    passed: bool
    detail: str = ""

    @property
    def complaint(self) -> str:
        """The line by which a judge's feedback names a criterion that failed."""
        detail = f" ({self.detail})" if self.detail else ""
        return f"- failed: {self.requirement}{detail}"


class _Verdict(_Body):
    """What came of judging; a judge that is a model leaves what it was asked and what it said."""

    #: Blob of those messages.
    trajectory: str | None = None

    @property
    def digest(self) -> str:
        unused = {"trajectory"} if self.trajectory is None else None
        return digest(self.model_dump(mode="json", exclude=unused))


class JudgementBody(_Verdict):
    """A judge's verdict; `feedback` is shown verbatim to the analyst."""

    kind: Literal["judgement"] = "judgement"
    hard: float = Field(ge=0, le=1)
    soft: float = Field(ge=0, le=1)
    criteria: tuple[CriterionResult, ...] = ()
    feedback: str = ""

    @property
    def remarks(self) -> str:
        """What the feedback says besides naming the criteria that failed, word for word."""
        rest = f"{self.feedback}\n"
        for criterion in self.criteria:
            if not criterion.passed:
                rest = rest.replace(f"{criterion.complaint}\n", "", 1)
        return rest.strip()


class InvalidBody(_Verdict):
    """The task cannot be scored: left out of both arms, counted and shown, never a zero."""

    kind: Literal["invalid"] = "invalid"
    reason: str


Body = ReplyBody | JudgementBody | InvalidBody
BODY: TypeAdapter[Body] = TypeAdapter(Annotated[Body, Field(discriminator="kind")])


class Receipt(BaseModel):
    """How a result came about: kept beside the body, never part of its digest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    worker: str = ""
    seconds: float = 0.0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int = 0
    #: Whether tokens, and so the cost, are our own estimate: the provider reported none.
    estimated: bool = False
