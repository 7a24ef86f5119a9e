"""A task, its judge, and the three disjoint splits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from skillopt.domain.fingerprint import digest

SplitName = Literal["train", "val", "test"]
SPLITS: tuple[SplitName, ...] = ("train", "val", "test")
#: Fields of a record that tell tasks apart without changing what is asked.
_NAMING_FIELDS = ("id", "task_id", "tags", "split")


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Check(_Record):
    """One rule of a rule judge; `skillopt.judges.rule` knows the operations."""

    op: str
    arg: bool | str | int | float | None = None


class RuleJudge(_Record):
    kind: Literal["rule"] = "rule"
    checks: tuple[Check, ...] = Field(min_length=1)


class ExactJudge(_Record):
    """The whole answer must equal one of `answer` after normalisation."""

    kind: Literal["exact"] = "exact"
    answer: str | tuple[str, ...]
    substring: bool = False


class FunctionJudge(_Record):
    """A Python function of the process that started the run; `task` is what it is handed."""

    kind: Literal["function"] = "function"
    function: str
    #: Changes whenever the function may score differently.
    revision: str
    task: dict[str, Any]


Judge = Annotated[RuleJudge | ExactJudge | FunctionJudge, Field(discriminator="kind")]


class Tool(_Record):
    """A tool the task offers; `result` is what it answers."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    result: str = ""


class TaskPrompt(_Record):
    """The part of a task that the target sees: all that a rollout depends on."""

    task: str
    context: str = ""
    system: str = ""
    tools: tuple[Tool, ...] = ()

    @property
    def hash(self) -> str:
        return digest(self.model_dump(mode="json"))


class Item(_Record):
    """One task of a split."""

    id: str
    prompt: TaskPrompt
    judge: Judge
    tags: tuple[str, ...] = ()

    @property
    def content_hash(self) -> str:
        """Hash of what is asked and how it is judged; ids and tags do not matter."""
        judge = self.judge.model_dump(mode="json")
        if isinstance(self.judge, FunctionJudge):
            judge["task"] = {k: v for k, v in self.judge.task.items() if k not in _NAMING_FIELDS}
        return digest({"prompt": self.prompt.model_dump(mode="json"), "judge": judge})


class Splits(_Record):
    """Train, validation and test items; loaders make sure that they are disjoint."""

    train: tuple[Item, ...] = ()
    val: tuple[Item, ...] = ()
    test: tuple[Item, ...] = ()

    def of(self, name: SplitName) -> tuple[Item, ...]:
        items: tuple[Item, ...] = getattr(self, name)
        return items
