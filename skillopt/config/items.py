"""From a record to a task: field names, columns mapped by the spec, and every check on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt.config.answer_judges import Told
from skillopt.config.attachments import AttachmentReader
from skillopt.config.json_source import decode
from skillopt.config.judge_input import read_judge
from skillopt.config.origins import Origin, Problems
from skillopt.config.records import Record
from skillopt.config.rubric_judge import with_rubric
from skillopt.config.spellings import split_named, unknown_split
from skillopt.config.suggest import did_you_mean, nearest
from skillopt.config.tools import Fault, read_tools, with_asked_tools
from skillopt.domain.item import Attachment, Item, Judge, RubricJudge, SplitName, TaskPrompt
from skillopt.errors import ConfigError

#: Other names of fields -> the one used from here on.
_ALIASES = {"task_id": "id", "intent": "task", "answer": "answers"}
FIELDS = (
    "id", "task", "context", "system", "tools", "judge", "answers", "rubric", "attachments", "tags",
    "split",
)  # fmt: skip
#: Cells of a table that hold JSON.
_JSON_CELLS = ("judge", "tools", "attachments")
_MAX_ID_CHARS = 200


@dataclass(frozen=True)
class PlacedItem:
    """A task, where it was written, and the split its record names."""

    item: Item
    where: Origin
    split: SplitName | None


class ItemReader:
    """Turns records into tasks; collects problems, and columns that nothing reads."""

    def __init__(
        self,
        fields: Mapping[str, str],
        default_judge: Mapping[str, Any] | None,
        problems: Problems,
    ) -> None:
        self._columns = {_ALIASES.get(ours, ours): column for ours, column in fields.items()}
        self._default_judge = None if default_judge is None else dict(default_judge)
        self._problems = problems
        self._attachments = AttachmentReader()
        self.unused: dict[str, Origin] = {}

    @property
    def attachments(self) -> Mapping[str, Path]:
        """Where the content of each hash was found."""
        return self._attachments.files

    @property
    def attachment_paths(self) -> list[Path]:
        """The paths by which records name their attachments."""
        return list(self._attachments.named)

    def read(self, record: Record) -> PlacedItem | None:
        before = len(self._problems)
        values = self._named(record)
        if record.is_row and len(self._problems) > before:
            return None  # what a cell that cannot be read would have said is not missing
        item_id = self._id(record, values)
        label = f"task {item_id!r}: " if item_id else ""

        def fault(text: str) -> None:
            self._problems.add(record.where, label + text)

        attachments = self._attachments.read(values.get("attachments"), record.where, fault)
        prompt = _prompt(values, self._columns, attachments, fault)
        tags = _texts(values.get("tags"), "tags", fault)
        split = split_named(values.get("split"))
        if split is None and values.get("split") is not None:
            fault(unknown_split(values["split"]))
        judge = self._judge(values, fault)
        if values.get("rubric") is not None and not isinstance(judge, RubricJudge | None):
            self.unused.setdefault(self._columns.get("rubric", "rubric"), record.where)
        if judge is not None and prompt is not None:
            prompt = with_asked_tools(prompt, judge, fault)
        if judge is None or prompt is None or len(self._problems) > before:
            return None
        return PlacedItem(
            Item(id=item_id, prompt=prompt, judge=judge, tags=tags), record.where, split
        )

    def _named(self, record: Record) -> dict[str, Any]:
        """Give the values their names; a mapped column beats one that already has the name."""
        values: dict[str, Any] = {}
        for ours, column in self._columns.items():
            if column in record.values:
                values[ours] = record.values[column]
        for name, value in record.values.items():
            ours = _ALIASES.get(name, name)
            if name in self._columns.values() or ours in self._columns:
                continue
            if ours not in FIELDS:
                self._unknown_field(name, record.where)
            elif ours in values and values[ours] != value:
                self._problems.add(
                    record.where, f"{name!r} and another name of {ours!r} differ; keep one"
                )
            else:
                values[ours] = value
        return self._cells(record, values) if record.is_row else values

    def _unknown_field(self, name: str, where: Origin) -> None:
        # Data sets have columns of their own, so only a clear slip is an error.
        guess = nearest(name, (*FIELDS, *_ALIASES), cutoff=0.8)
        if guess:
            self._problems.add(where, f"field {name!r} is not known; did you mean {guess!r}?")
        else:
            self.unused.setdefault(name, where)

    def _cells(self, record: Record, values: dict[str, Any]) -> dict[str, Any]:
        read = dict(values)
        for name, cell in values.items():
            is_list = name in ("answers", "tags") and cell.lstrip().startswith("[")
            if name in _JSON_CELLS or is_list:
                try:
                    read[name] = decode(cell)
                except ValueError as error:
                    self._problems.add(record.where, _cell_fault(name, error))
                    del read[name]
            elif name == "tags":
                read[name] = [tag.strip() for tag in cell.split(",") if tag.strip()]
        return read

    def _id(self, record: Record, values: Mapping[str, Any]) -> str:
        value = values.get("id")
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        column = self._columns.get("id")
        if value is None or value == "":
            names = f"no column {column!r}" if column else "no 'task_id' (or 'id')"
            self._problems.add(record.where, f"the record has {names}; give each task its own id")
            return ""
        if not isinstance(value, str) or not value.isprintable() or len(value) > _MAX_ID_CHARS:
            self._problems.add(
                record.where,
                f"task_id {value!r} is not usable; give a printable text of at most "
                f"{_MAX_ID_CHARS} characters",
            )
            return ""
        return value

    def _judge(self, values: Mapping[str, Any], fault: Fault) -> Judge | None:
        answers, rubric = values.get("answers"), values.get("rubric")
        written = values.get("judge")
        is_default = written is None
        if written is None:
            written = self._default_judge
        if written is None:
            written = _implied_judge(answers, rubric, fault)
        if written is None:
            return None
        if rubric is not None and isinstance(written, dict) and written.get("kind") == "rubric":
            written, problem = with_rubric(written, rubric, is_default=is_default)
            if problem is not None:
                fault(problem)
                return None
        texts = tuple(
            text for name in ("task", "context") if isinstance(text := values.get(name), str)
        )
        judge, problems = read_judge(written, Told(answers, texts))
        for problem in problems:
            fault(problem)
        return judge


def _implied_judge(answers: object, rubric: object, fault: Fault) -> dict[str, Any] | None:
    """Give the judge of a task that names none but says what it is judged by."""
    if answers is not None and rubric is not None:
        fault("has 'answers' and 'rubric' but no judge; add 'judge' with the kind that is meant")
        return None
    if answers is None and rubric is None:
        fault("has no judge; add 'judge' to the record, or a default `judge:` to the spec")
        return None
    return {"kind": "exact" if rubric is None else "rubric"}


def _prompt(
    values: Mapping[str, Any],
    columns: Mapping[str, str],
    attachments: tuple[Attachment, ...],
    fault: Fault,
) -> TaskPrompt | None:
    texts = {}
    for name in ("task", "context", "system"):
        value = values.get(name)
        if value is not None and not isinstance(value, str):
            fault(f"{name}: {value!r} is not a text; put it in quotes")
        texts[name] = value if isinstance(value, str) else ""
    if not texts["task"].strip() and isinstance(values.get("task"), str | None):
        column = columns.get("task")
        names = f"no column {column!r}" if column else "no 'task' (or 'intent')"
        fault(f"has {names}; say what is to be done")
    tools = read_tools(values.get("tools"), fault)
    if not texts["task"].strip():
        return None
    return TaskPrompt(**texts, tools=tools, attachments=attachments)


def _cell_fault(name: str, error: ValueError) -> str:
    fix = "repair it"
    if name in ("answers", "tags"):
        fix = 'a cell that begins with [ is a JSON list, like ["…"]'
    if name == "attachments":
        fix = 'write a JSON list of paths, like ["report.csv"]'
    return f"the cell {name!r} is not valid JSON: {error}; {fix}"


def _texts(value: object, name: str, fault: Fault) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        fault(f'{name}: {value!r} is not a list of texts; write ["…", "…"]')
        return ()
    return tuple(value)


def check_fields(fields: Mapping[str, str], where: Origin) -> None:
    """Refuse a mapping of columns to fields that do not exist."""
    problems = Problems()
    known = (*FIELDS, *_ALIASES)
    for ours in fields:
        if ours not in known:
            problems.add(
                where,
                f"fields.{ours}: {ours!r} is not a field of a task; "
                f"{did_you_mean(ours, known, 'fields')}",
            )
    problems.raise_any(ConfigError)
