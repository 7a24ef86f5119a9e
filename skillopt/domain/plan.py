"""A run plan: everything a run depends on, resolved and pinned at submission.

The plan's `identity` is the hash of all that can change the outcome; name, budget and labels are
not in it. Any process that has the plan can drive the run: nothing downstream reads a spec file,
an environment variable or a prompt folder.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from skillopt.domain.backend import BackendUse
from skillopt.domain.fingerprint import digest, text_hash
from skillopt.domain.item import SplitName, Splits
from skillopt.domain.spec import Budget, Settings
from skillopt.domain.usage import Role

#: `train` optimizes the document; `eval` only measures it on one split.
Mode = Literal["train", "eval"]


class RunPlan(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    mode: Mode = "train"
    eval_split: SplitName | None = None
    env: str = "tasks"
    settings: Settings
    skill: str
    splits: Splits
    templates: dict[str, str]
    judge_versions: dict[str, int]
    backends: dict[Role, BackendUse]
    budget: Budget = Budget()
    #: Distinguishes runs that were forced apart with `--new`.
    replica: int = 0

    @property
    def skill_hash(self) -> str:
        return text_hash(self.skill)

    @property
    def identity(self) -> str:
        """Hash of everything that can change the outcome."""
        kept = self.model_dump(mode="json", exclude={"name", "budget", "replica"})
        return digest(kept)

    @property
    def run_id(self) -> str:
        suffix = f"-{self.replica}" if self.replica else ""
        return f"{self.name}-{self.identity[:12]}{suffix}"
