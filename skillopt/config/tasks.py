"""Tasks from a benchmark folder, a split folder or one file, divided into disjoint splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from skillopt.config.items import ItemReader, PlacedItem, check_fields
from skillopt.config.origins import Origin, Problems
from skillopt.config.records import SUFFIXES, read_records
from skillopt.config.spellings import foreign_split
from skillopt.config.splitting import Placed, divide, parse_ratio, report_overlaps, seeded_order
from skillopt.domain.item import SPLITS, SplitName, Splits
from skillopt.errors import ConfigError, TaskError

BENCHMARK_FILE = "benchmark.jsonl"
HELD_OUT_FILE = "held-out.jsonl"
_SHOWN_REPEATS = 5
_TWO_PARTS = "2:1"
_THREE_PARTS = "2:1:1"
_EXPECTED = (
    f"expected a folder with {BENCHMARK_FILE} (and {HELD_OUT_FILE}), a folder with train, val and "
    "test, or one .jsonl, .json or .csv file"
)


@dataclass(frozen=True)
class TaskSource:
    """Which tasks to load and how; `where_*` say where a person asked for it."""

    path: Path
    where: Origin
    ratio: str | None = None
    where_ratio: Origin | None = None
    seed: int = 42
    fields: Mapping[str, str] = field(default_factory=dict)
    where_fields: Origin | None = None
    judge: Mapping[str, Any] | None = None
    #: Splits that must not be empty.
    needed: tuple[SplitName, ...] = ("train", "val", "test")
    #: At most so many tasks of a split.
    limits: Mapping[SplitName, int | None] = field(default_factory=dict)
    #: At most so many of every split, for a smoke run.
    limit: int | None = None


@dataclass(frozen=True)
class LoadedTasks:
    splits: Splits
    #: The splits without the cut of a smoke run.
    uncut: Splits
    #: The ratio by which tasks were divided; None if they already were.
    ratio: str | None = None
    warnings: tuple[str, ...] = ()
    #: Where the content of each attachment lies, by its hash.
    attachments: Mapping[str, Path] = field(default_factory=dict)
    #: Every file that was read: the tasks' own, and attachments by the paths that name them.
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class _Layout:
    """Files by split; those under None are divided by ratio unless their records name a split."""

    files: Mapping[SplitName | None, Sequence[Path]]
    ratio_parts: int
    #: How to fill an empty split.
    fix: str
    #: How to fill test, if that goes another way.
    test_fix: str | None = None


def load_tasks(source: TaskSource) -> LoadedTasks:
    """Load and divide the tasks; raises TaskError or ConfigError with every problem."""
    if source.limit is not None and source.limit < 1:
        raise ConfigError(f"--limit: {source.limit!r} is too small; give at least 1")
    check_fields(source.fields, source.where_fields or source.where)
    layout = _layout(source)
    problems = Problems()
    reader = ItemReader(source.fields, source.judge, problems)
    given = {split: _read(paths, reader, problems) for split, paths in layout.files.items()}
    problems.raise_any(TaskError)
    warnings = [f"{where}: the field {name!r} is not used" for name, where in reader.unused.items()]
    placed = _place(source, layout, given, problems, warnings)
    repeated = report_overlaps(placed, problems)
    warnings += repeated[:_SHOWN_REPEATS]
    if len(repeated) > _SHOWN_REPEATS:
        warnings.append(f"{source.path}: {len(repeated)} tasks have the same content as another")
    problems.raise_any(TaskError)
    _refuse_empty(source, layout, placed)
    uncut = Splits(
        **{
            split: tuple(entry.item for entry in placed[split][: source.limits.get(split)])
            for split in SPLITS
        }
    )
    splits = Splits(**{split: uncut.of(split)[: source.limit] for split in SPLITS})
    ratio = _ratio(source, layout) if _is_divided_here(given) else None
    own = [path for paths in layout.files.values() for path in paths]
    files = (*own, *reader.attachment_paths)
    return LoadedTasks(splits, uncut, ratio, tuple(warnings), reader.attachments, files)


def _read(paths: Sequence[Path], reader: ItemReader, problems: Problems) -> list[PlacedItem]:
    items = []
    for path in paths:
        for record in problems.attempt(partial(read_records, path)) or []:
            item = reader.read(record)
            if item is not None:
                items.append(item)
    return items


def _place(
    source: TaskSource,
    layout: _Layout,
    given: Mapping[SplitName | None, list[PlacedItem]],
    problems: Problems,
    warnings: list[str],
) -> Placed:
    pool = given.get(None, [])
    placed: Placed = {split: list(given.get(split, [])) for split in SPLITS}
    for split in SPLITS:
        for entry in placed[split]:
            if entry.split not in (None, split):
                problems.add(
                    entry.where,
                    f"task {entry.item.id!r} says split {entry.split!r} but lies in {split}; "
                    "move it, or remove its split",
                )
    if _is_divided_here(given):
        divided = divide(pool, _weights(source, layout), source.seed)
        return {split: divided[split] or _ordered(placed, split, source.seed) for split in SPLITS}
    for entry in pool:
        if entry.split is None:
            problems.add(
                entry.where,
                f"task {entry.item.id!r} has no split, but others of its file do; give every "
                "task one, or none",
            )
        else:
            placed[entry.split].append(entry)
    if source.ratio is not None:
        warnings.append(
            f"{source.where_ratio or source.where}: split.ratio is not used, since the tasks are "
            "already divided"
        )
    return {split: _ordered(placed, split, source.seed) for split in SPLITS}


def _is_divided_here(given: Mapping[SplitName | None, list[PlacedItem]]) -> bool:
    """Whether there are tasks to divide by ratio: none of them names its split."""
    pool = given.get(None, [])
    return bool(pool) and all(entry.split is None for entry in pool)


def _ordered(placed: Placed, split: SplitName, seed: int) -> list[PlacedItem]:
    return seeded_order(placed[split], seed, split)


def _weights(source: TaskSource, layout: _Layout) -> tuple[int, ...]:
    try:
        return parse_ratio(_ratio(source, layout), layout.ratio_parts)
    except ConfigError as error:
        raise ConfigError(f"{source.where_ratio or source.where}: {error}") from None


def _ratio(source: TaskSource, layout: _Layout) -> str:
    if source.ratio is not None:
        return source.ratio
    return _TWO_PARTS if layout.ratio_parts == 2 else _THREE_PARTS


def _refuse_empty(source: TaskSource, layout: _Layout, placed: Placed) -> None:
    empty = [split for split in source.needed if not placed[split]]
    if not empty:
        return
    counts = ", ".join(f"{split} {len(placed[split])}" for split in SPLITS)
    fix = layout.fix
    if "test" in empty and layout.test_fix:
        fix = layout.test_fix if empty == ["test"] else f"{fix}; {layout.test_fix}"
    if empty == ["test"]:
        fix += ", or set evaluation.eval_test: false"
    names = " and ".join(empty)
    verb = "is" if len(empty) == 1 else "are"
    raise TaskError(f"{source.path}: {names} {verb} empty (the tasks give {counts}); {fix}")


def _layout(source: TaskSource) -> _Layout:
    path = source.path
    if path.is_file():
        return _Layout({None: [path]}, 3, "add tasks, or change split.ratio")
    if not path.is_dir():
        raise TaskError(f"{source.where}: tasks: {str(path)!r} does not exist; {_EXPECTED}")
    by_split: dict[SplitName | None, list[Path]] = {
        split: _split_files(path, split) for split in SPLITS
    }
    is_split_folder = any(by_split.values())
    benchmark, held_out = path / BENCHMARK_FILE, path / HELD_OUT_FILE
    if benchmark.is_file():
        if is_split_folder:
            raise TaskError(
                f"{path}: has both {BENCHMARK_FILE} and a split folder's train, val or test; "
                "remove one of the two layouts"
            )
        if not held_out.is_file():
            fix = f"add tasks to {BENCHMARK_FILE} or change split.ratio"
            return _Layout({None: [benchmark]}, 2, fix, test_fix=f"add {HELD_OUT_FILE}")
        fix = f"add tasks to {BENCHMARK_FILE}, or change split.ratio"
        return _Layout({None: [benchmark], "test": [held_out]}, 2, fix)
    for entry in sorted(path.iterdir()):
        ours = foreign_split(entry.name.partition(".")[0])
        if not ours or by_split[ours] or entry.name == HELD_OUT_FILE:
            continue
        if ours in source.needed or not is_split_folder:
            raise TaskError(f"{entry}: this split is called {ours!r} here; rename it")
    if is_split_folder:
        return _Layout(by_split, 3, f"put task files into {path / '<split>'}")
    raise TaskError(f"{source.where}: tasks: {str(path)!r} holds no tasks; {_EXPECTED}")


def _split_files(folder: Path, split: SplitName) -> list[Path]:
    files = [folder / f"{split}{suffix}" for suffix in SUFFIXES]
    found = [path for path in files if path.is_file()]
    inner = folder / split
    if inner.is_dir():
        found.append(inner)
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise TaskError(f"{folder}: has both {names} for {split}; keep one of them")
    if found != [inner]:
        return found
    inside = sorted(path for path in inner.iterdir() if path.suffix.lower() in SUFFIXES)
    if not inside:
        raise TaskError(f"{inner}: holds no .jsonl, .json or .csv file; put the tasks there")
    return inside
