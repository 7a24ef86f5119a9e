"""A task, its judge, and the three disjoint splits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

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


class AnswerJudge(_Record):
    """The final answer must be one of `answers`, compared as SQuAD compares them."""

    kind: Literal["answer"] = "answer"
    answers: tuple[str, ...]


class NumericJudge(_Record):
    """The final answer must state one of the numbers `answers`, each as a person writes it.

    It may be off by `absolute`, or by `relative` times the expected number, whichever is more.
    """

    kind: Literal["numeric"] = "numeric"
    answers: tuple[str, ...]
    absolute: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    relative: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    #: Whether the soft score tells how near a wrong number is.
    partial: bool = False


class ChoiceJudge(_Record):
    """The final answer must choose one of the options whose labels are `answers`."""

    kind: Literal["choice"] = "choice"
    answers: tuple[str, ...]
    #: Label -> text of every option; a text may be "" where only labels are known.
    choices: dict[str, str]


class RubricJudge(_Record):
    """A model says, from 0 to 1, how well an answer does what `rubric` asks for.

    It passes from `threshold` on.
    """

    kind: Literal["rubric"] = "rubric"
    rubric: str
    threshold: float = Field(default=0.8, gt=0, le=1, allow_inf_nan=False)


class FunctionJudge(_Record):
    """A Python function of the process that started the run; `task` is what it is handed."""

    kind: Literal["function"] = "function"
    function: str
    #: Changes whenever the function may score differently.
    revision: str
    task: dict[str, Any]


class AddedJudge(BaseModel):
    """A judge of a kind that another package adds; all its other fields are that kind's own."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str

    @property
    def fields(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


#: Kinds that are part of this package; every other name belongs to an `AddedJudge`.
OWN_KINDS = ("exact", "rule", "answer", "numeric", "choice", "function", "rubric")


def _variant(judge: object) -> str:
    kind = judge.get("kind") if isinstance(judge, dict) else getattr(judge, "kind", None)
    return kind if isinstance(kind, str) and kind in OWN_KINDS else "added"


Judge = Annotated[
    Annotated[RuleJudge, Tag("rule")]
    | Annotated[ExactJudge, Tag("exact")]
    | Annotated[AnswerJudge, Tag("answer")]
    | Annotated[NumericJudge, Tag("numeric")]
    | Annotated[ChoiceJudge, Tag("choice")]
    | Annotated[RubricJudge, Tag("rubric")]
    | Annotated[FunctionJudge, Tag("function")]
    | Annotated[AddedJudge, Tag("added")],
    Discriminator(_variant),
]


def asks_model(judge: Judge) -> bool:
    """Whether judging takes calls of a model, and so is a job of its own."""
    return isinstance(judge, RubricJudge)


class Tool(_Record):
    """A tool the task offers; `result` is what it answers."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    result: str = ""


class Attachment(_Record):
    """A file that comes with a task; its bytes are the blob of that hash."""

    #: Relative, with forward slashes, inside the folder the agent works in.
    path: str
    sha256: str
    media_type: str
    size: int = Field(ge=0)


class TaskPrompt(_Record):
    """The part of a task that the target sees: all that a rollout depends on."""

    task: str
    context: str = ""
    system: str = ""
    tools: tuple[Tool, ...] = ()
    attachments: tuple[Attachment, ...] = ()

    @property
    def hash(self) -> str:
        return digest(self.model_dump(mode="json"))

    @property
    def text(self) -> str:
        """What is asked, with its context; all that a target is told of the task in words."""
        return f"{self.task}\n\n## Context\n\n{self.context}" if self.context else self.task


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

    @property
    def attachments(self) -> dict[str, Attachment]:
        """The files of all tasks by their hash: each content once."""
        tasks = (item for name in SPLITS for item in self.of(name))
        return {one.sha256: one for item in tasks for one in item.prompt.attachments}
