"""How long the document may be: `optimizer.max_skill_tokens`."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.domain.documents import Documents
from skillopt.domain.run import RunState
from skillopt.loop.prompt_parts import CHARACTERS_PER_TOKEN


def tokens_of(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True)
class Excess:
    """A candidate that is too long, in characters of its primary document."""

    length: int
    #: What would be allowed: the limit, or the parent's length if that is more already.
    allowed: int
    limit_tokens: int

    def __str__(self) -> str:
        told = f"about {tokens_of(self.length)} tokens, max_skill_tokens is {self.limit_tokens}"
        if self.allowed > self.limit_tokens * CHARACTERS_PER_TOKEN:
            told += f" and the current document has about {tokens_of(self.allowed)}"
        return told


def excess_of(state: RunState, documents: Documents) -> Excess | None:
    """Say by how much a candidate is too long.

    A document that began too long may change as long as it does not grow: otherwise no step of
    the run could have a candidate.
    """
    plan = state.plan
    limit = plan.settings.optimizer.max_skill_tokens
    if limit is None:
        return None
    length = len(documents.of(plan.primary))
    parent = len(state.texts[state.current].of(plan.primary))
    allowed = max(limit * CHARACTERS_PER_TOKEN, parent)
    return Excess(length, allowed, limit) if length > allowed else None
