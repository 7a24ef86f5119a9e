"""Tasks from lists of records that a program gives, checked as those of files are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from skillopt.config.items import ItemReader, PlacedItem, check_fields
from skillopt.config.origins import MAX_PROBLEMS_SHOWN, Origin, Problems
from skillopt.config.plain_values import plain
from skillopt.config.records import Record
from skillopt.config.splitting import Placed, report_overlaps, seeded_order
from skillopt.config.tasks import LoadedTasks
from skillopt.config.tools import Fault
from skillopt.domain.item import SPLITS, FunctionJudge, Judge, SplitName, Splits
from skillopt.errors import TaskError

_SHOWN_WARNINGS = 5
_FIXES: Mapping[SplitName, str] = MappingProxyType(
    {
        "train": "give the tasks to learn from",
        "val": "give the tasks that decide whether a change is kept",
        "test": "give tasks, or set evaluation.eval_test to False",
    }
)


@dataclass(frozen=True)
class GivenTasks:
    """Records by split, and how to read them."""

    records: Mapping[SplitName, Iterable[Mapping[str, Any]]]
    #: For records without a judge of their own: one as written, or a function's, of no task yet.
    judge: Mapping[str, Any] | FunctionJudge | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    where_fields: Origin = field(default_factory=lambda: Origin("fields"))
    seed: int = 42
    #: Splits that must not be empty.
    needed: tuple[SplitName, ...] = SPLITS
    #: At most so many tasks of a split.
    limits: Mapping[SplitName, int | None] = field(default_factory=dict)


def read_given_tasks(given: GivenTasks) -> LoadedTasks:
    """Read the tasks; raises TaskError or ConfigError with every problem.

    Their order is the one that files of the same records would give.
    """
    check_fields(given.fields, given.where_fields)
    problems = Problems()
    reader = _reader(given, problems)
    placed: Placed = {
        split: _read(given.records.get(split, ()), split, reader, problems) for split in SPLITS
    }
    problems.raise_any(TaskError, at_most=MAX_PROBLEMS_SHOWN)
    # A function is handed the whole record, so it may use every field.
    unused = {} if isinstance(given.judge, FunctionJudge) else reader.unused
    warnings = [f"{where}: the field {name!r} is not used" for name, where in unused.items()]
    repeated = report_overlaps(placed, problems)
    problems.raise_any(TaskError, at_most=MAX_PROBLEMS_SHOWN)
    warnings += repeated[:_SHOWN_WARNINGS]
    if len(repeated) > _SHOWN_WARNINGS:
        warnings.append(f"{len(repeated)} tasks have the same content as another")
    empty = [split for split in given.needed if not placed[split]]
    if empty:
        raise TaskError("\n".join(f"{split}: is empty; {_FIXES[split]}" for split in empty))
    splits = Splits(**{split: _kept(placed, split, given) for split in SPLITS})
    return LoadedTasks(splits, splits, None, tuple(warnings), reader.attachments)


def _kept(placed: Placed, split: SplitName, given: GivenTasks) -> tuple[Any, ...]:
    ordered = seeded_order(placed[split], given.seed, split)
    return tuple(entry.item for entry in ordered[: given.limits.get(split)])


def _read(
    records: object, split: SplitName, reader: ItemReader, problems: Problems
) -> list[PlacedItem]:
    if not isinstance(records, Iterable) or isinstance(records, str | bytes | Mapping):
        problems.add(
            Origin(split), f"{records!r} is not a list of task records; give [{{'id': …}}, …]"
        )
        return []
    items = []
    for number, record in enumerate(records):
        where = Origin(f"{split}[{number}]")
        if not isinstance(record, Mapping):
            problems.add(where, f"{record!r} is not a task record; give a dict")
            continue
        values = problems.attempt(lambda r=record, w=where: plain(r, w, error=TaskError))  # type: ignore[misc]
        item = None if values is None else reader.read(Record(where, values))
        if item is None:
            continue
        if item.split not in (None, split):
            problems.add(
                where,
                f"task {item.item.id!r} says split {item.split!r} but is given as {split}; give "
                "it there, or remove its split",
            )
        items.append(item)
    return items


def _reader(given: GivenTasks, problems: Problems) -> ItemReader:
    if isinstance(given.judge, FunctionJudge):
        return _FunctionItemReader(given.fields, given.judge, problems)
    return ItemReader(given.fields, given.judge, problems)


class _FunctionItemReader(ItemReader):
    """Gives records without a judge of their own to a function, which sees all their fields."""

    def __init__(
        self, fields: Mapping[str, str], function: FunctionJudge, problems: Problems
    ) -> None:
        super().__init__(fields, None, problems)
        self._function = function

    def read(self, record: Record) -> PlacedItem | None:
        placed = super().read(record)
        if placed is None or not isinstance(placed.item.judge, FunctionJudge):
            return placed
        judge = self._function.model_copy(update={"task": record.values})
        item = placed.item.model_copy(update={"judge": judge})
        return PlacedItem(item, placed.where, placed.split)

    def _judge(self, values: Mapping[str, Any], fault: Fault) -> Judge | None:
        if values.get("judge") is not None:
            return super()._judge(values, fault)
        return self._function
