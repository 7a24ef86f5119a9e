"""A run plan: everything a run depends on, resolved and pinned at submission.

The plan's `identity` is the hash of all that can change the outcome; name, budget, who pays,
priority and labels are not in it. Any process that has the plan can drive the run: nothing
downstream reads a spec file, an environment variable or a prompt folder.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from skillopt.domain.backend import BackendUse
from skillopt.domain.documents import DocumentName, Documents
from skillopt.domain.fingerprint import digest, sha256_hex, text_hash
from skillopt.domain.item import SplitName, Splits
from skillopt.domain.skill_folder import SkillFile, manifest
from skillopt.domain.spec import Budget, Priority, Settings
from skillopt.domain.usage import Role

#: `train` optimizes the document; `eval` only measures it on one split.
#: `aa` measures it several times on val, to see how far apart equal documents come out.
Mode = Literal["train", "eval", "aa"]


class RunPlan(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    mode: Mode = "train"
    eval_split: SplitName | None = None
    env: str = "tasks"
    #: How often an A/A run measures its document, each time with samples of its own.
    arms: int = 2
    settings: Settings
    skill: str
    #: The memory document; None if the run has none.
    memory: str | None = None
    #: What lies beside SKILL.md in a skill folder; None if the skill is a file of its own.
    files: tuple[SkillFile, ...] | None = None
    splits: Splits
    templates: dict[str, str]
    judge_versions: dict[str, int]
    backends: dict[Role, BackendUse]
    budget: Budget = Budget()
    #: Whose budgets pay for the run beside its own; "" is nobody.
    owner: str = ""
    team: str = ""
    priority: Priority = "normal"
    #: Distinguishes runs that were forced apart with `--new`.
    replica: int = 0

    @property
    def initial(self) -> Documents:
        return Documents(skill=self.skill, memory=self.memory)

    @property
    def initial_key(self) -> str:
        return self.key_of(self.initial)

    def skill_hash(self, text: str) -> str:
        """Hash a skill text together with what lies beside it."""
        if self.files is None:
            return text_hash(text)
        return sha256_hex(manifest(text, self.files))

    def key_of(self, documents: Documents) -> str:
        """Name a state of the documents: the skill's hash, or one of skill and memory."""
        skill = self.skill_hash(documents.skill)
        if documents.memory is None:
            return skill
        return digest({"skill": skill, "memory": text_hash(documents.memory)})

    @property
    def primary(self) -> DocumentName:
        """The document that regions, notes and rewrites belong to."""
        return "memory" if self.settings.evolve == "memory" else "skill"

    @property
    def evolving(self) -> tuple[DocumentName, ...]:
        return ("skill", "memory") if self.settings.evolve == "both" else (self.primary,)

    @property
    def identity(self) -> str:
        """Hash of everything that can change the outcome."""
        free = {"name", "budget", "owner", "team", "priority", "replica"}
        return digest(self.model_dump(mode="json", exclude=free))

    @property
    def run_id(self) -> str:
        suffix = f"-{self.replica}" if self.replica else ""
        return f"{self.name}-{self.identity[:12]}{suffix}"
