"""What came of a job, as a type.

`scored`, `model_failed` and `invalid` are what the model (or the task) did: they are committed
and cached. What the infrastructure did is a `CallError` or a lost lease instead, so it cannot be
written as an outcome: it has no score, is never cached, and is retried.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Committed = Literal["scored", "model_failed", "invalid"]


class LedgerLine(BaseModel):
    """A result as a run's ledger holds it: what was seen, and the score if there is one.

    For a rollout or an optimizer call `hard` and `soft` are absent: only judgements have scores.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: Committed
    digest: str
    hard: float | None = None
    soft: float | None = None
    #: The run that paid for it; any other run had it from the cache.
    payer: str = ""
    #: Set on a judgement that took calls of a model.
    by_model: bool | None = None
    #: Set on a rollout's reply: the digest of what judges are shown of it.
    judged: str | None = None

    @property
    def to_judge(self) -> str:
        """The digest by which a judgement names this reply; older results have only the one."""
        return self.judged or self.digest
