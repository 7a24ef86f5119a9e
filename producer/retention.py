"""Retention: finished runs leave Redis after a while, once their folders hold all of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from producer.folder.ledger import NAME, LedgerFile
from producer.known_runs import KnownRuns
from producer.mirror import Completed, complete_folder
from producer.run_folder import RunFolder
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import ENDED
from skillopt.errors import InputError, SkillOptError, StateCorrupt
from skillopt.state.ports import LogEntry, RunInfo, State


class RemovableRun(BaseModel):
    """A finished run whose time is up, and what it takes where it lies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str
    #: When its last event was written; seconds since 1970.
    ended_at: float
    where: Literal["redis", "folder"]
    #: Keys in Redis, or files in the folder.
    entries: int = 0
    bytes: int = 0


class KeptFor(BaseModel):
    """A run whose time is up and that stays nevertheless."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str
    why: str


def removable(state: State, older_than_s: float) -> list[RemovableRun]:
    """Give the finished runs in Redis that ended before, oldest first."""
    limit = state.server.now() - older_than_s
    found = []
    for info in state.runs.all():
        ended = _ended_at(state, info)
        if info.status in ENDED and ended is not None and ended < limit:
            found.append(RemovableRun(run=info.run, ended_at=ended, where="redis"))
    return sorted(found, key=lambda one: (one.ended_at, one.run))


def _ended_at(state: State, info: RunInfo) -> float | None:
    last = state.runs.log(info.run, after=info.version - 1)
    return last[-1].at if last else None


def remove_run(state: State, runs_dir: Path, meant: RemovableRun) -> RemovableRun | KeptFor:
    """Complete a run's folder, look it through, and only then remove the run from Redis."""
    folder = RunFolder(runs_dir / meant.run)
    try:
        whole = complete_folder(folder, state, _plan(state, folder, meant.run))
        _verify(folder, whole)
    except (SkillOptError, OSError) as error:
        return KeptFor(run=meant.run, why=str(error))
    removed = state.archive.remove(meant.run)
    if removed is None:
        return KeptFor(run=meant.run, why="somebody is at work on it")
    return meant.model_copy(update={"entries": removed.keys, "bytes": removed.bytes})


def _plan(state: State, folder: RunFolder, run: str) -> RunPlan:
    if not (folder.path / "plan.json").is_file():
        raise InputError(
            f"its folder {str(folder.path)!r} is not there: nothing else would be left of it; name "
            "the store that has it with --store"
        )
    known = KnownRuns(state).get(run)
    return folder.read_plan() if known is None else known.plan


def _verify(folder: RunFolder, whole: Completed) -> None:
    """Raise StateCorrupt unless the folder alone could put the run back."""
    here = RunFolder(folder.path).read_entries()
    if not _same(here, whole.entries):
        raise StateCorrupt(f"its folder {str(folder.path)!r} does not hold its whole log")
    kept = LedgerFile(folder.path / NAME).read()
    for job, line in whole.facts.lines.items():
        row = kept.get(job)
        if row is None or LedgerLine.model_validate_json(row.line).digest != line.digest:
            raise StateCorrupt(f"{str(folder.path / NAME)!r} lacks the result of job {job[:16]}")
    if RunFolder(folder.path).state().status not in ENDED:
        raise StateCorrupt(f"its folder {str(folder.path)!r} is of a run that is not finished")


def _same(here: list[LogEntry], there: list[LogEntry]) -> bool:
    return len(here) == len(there) and all(
        json.loads(mine.event) == json.loads(theirs.event)
        for mine, theirs in zip(here, there, strict=True)
    )


# --- folders --------------------------------------------------------------------------------


def removable_folders(runs_dir: Path, limit: float) -> Iterator[RemovableRun]:
    """Give the folders of finished runs that ended before `limit`; a damaged one is not ours to
    judge, and an unfinished one never goes.
    """
    for path in sorted(runs_dir.glob("*/plan.json")):
        folder = path.parent
        if folder.is_symlink():
            continue
        try:
            kept = RunFolder(folder)
            entries, state = kept.read_entries(), kept.state()
        except (SkillOptError, OSError):
            continue
        if state.status in ENDED and entries[-1].at < limit:
            files = [one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()]
            yield RemovableRun(
                run=folder.name,
                ended_at=entries[-1].at,
                where="folder",
                entries=len(files),
                bytes=sum(one.stat().st_size for one in files),
            )


def remove_folder(state: State, runs_dir: Path, meant: RemovableRun) -> RemovableRun | KeptFor:
    """Remove a run's folder for good, unless Redis still has the run."""
    if state.runs.info(meant.run) is not None:
        return KeptFor(run=meant.run, why="Redis has it still, so its folder stays")
    shutil.rmtree(runs_dir / meant.run)
    return meant
