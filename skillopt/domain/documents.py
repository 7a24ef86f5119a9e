"""What a run trains: a skill, and a memory document beside it where there is one."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

DocumentName = Literal["skill", "memory"]


class Documents(BaseModel):
    """The texts a target works with. A run without a memory document has None there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    skill: str
    memory: str | None = None

    def of(self, name: DocumentName) -> str:
        return self.skill if name == "skill" else self.memory or ""

    def with_text(self, name: DocumentName, text: str) -> Documents:
        return self.model_copy(update={name: text})
