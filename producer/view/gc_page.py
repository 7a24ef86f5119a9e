"""Retention, for people: what would go, what went, what stayed and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.leftovers import Leftover
from producer.retention import KeptFor, RemovableRun
from producer.view import numbers
from producer.view.cache_page import size
from producer.view.dead_page import moment
from producer.view.printable import safe

_WHERE = {"redis": "Redis", "folder": "its folder, for good"}


class Collected(BaseModel):
    """What was removed, and which runs stayed nevertheless."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    removed: tuple[RemovableRun, ...] = ()
    kept: tuple[KeptFor, ...] = ()
    leftovers: tuple[Leftover, ...] = ()


def meant_page(
    runs: Sequence[RemovableRun],
    folders: Sequence[RemovableRun],
    left: Sequence[Leftover],
    *,
    dry_run: bool,
) -> list[RenderableType]:
    """List what is finished and old."""
    if not (runs or folders or left):
        return [Text("Nothing is finished and that old.")]
    table = Table(box=None, pad_edge=False)
    for name in ("what", "ended", "from", "size"):
        table.add_column(name, overflow="fold", justify="right" if name == "size" else "left")
    for one in (*runs, *folders):
        shown = size(one.bytes) if one.bytes else numbers.UNKNOWN
        table.add_row(safe(f"run {one.run}"), moment(one.ended_at), _WHERE[one.where], shown)
    for item in left:
        table.add_row(safe(f"{item.kind} {item.path}"), numbers.UNKNOWN, "here", size(item.bytes))
    return [Text("Would remove:" if dry_run else "To remove:", style="bold"), table]


def done_page(collected: Collected) -> list[RenderableType]:
    return [safe(line) for line in _lines(collected)]


def _lines(collected: Collected) -> Iterator[str]:
    redis = [one for one in collected.removed if one.where == "redis"]
    keys, freed = sum(one.entries for one in redis), sum(one.bytes for one in redis)
    count = numbers.plural(len(redis), "run")
    yield f"Removed from Redis: {count}, {numbers.plural(keys, 'key')}, {size(freed)}."
    folders = [one for one in collected.removed if one.where == "folder"]
    on_disk = sum(one.bytes for one in folders) + sum(one.bytes for one in collected.leftovers)
    if folders or collected.leftovers:
        yield (
            f"Removed from disk: {numbers.plural(len(folders), 'folder')}, "
            f"{numbers.plural(len(collected.leftovers), 'leftover')}, {size(on_disk)}."
        )
    for one in collected.kept:
        yield f"Kept run {one.run}: {one.why}"
