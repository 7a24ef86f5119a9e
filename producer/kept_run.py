"""All that a run's folder holds of the run itself: plan, log and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import ValidationError

from producer.folder.ledger import NAME, KeptResult, LedgerFile
from producer.run_folder import RunFolder
from producer.stored_log import folded
from skillopt.domain.events import decode_event
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.errors import InputError, StateCorrupt
from skillopt.state.ports import LogEntry


@dataclass(frozen=True)
class KeptRun:
    plan: RunPlan
    #: Where skill and tasks came from, in words.
    origin: dict[str, str]
    entries: list[LogEntry]
    state: RunState
    results: dict[str, KeptResult]
    lines: dict[str, LedgerLine]


def read_run(folder: RunFolder) -> KeptRun:
    """Read a whole run; raises InputError, or StateCorrupt with file and line."""
    plan, entries = folder.read_plan(), folder.read_entries()
    path = folder.path / "events.jsonl"
    if not entries:
        raise InputError(
            f"{str(path)!r} has no events: there is nothing to restore; start the run anew"
        )
    for entry in entries:
        try:
            decode_event(entry.event)
        except StateCorrupt as error:
            raise type(error)(f"line {entry.seq} of {str(path)!r}: {error}") from error
    try:
        state = folded(plan, entries)
    except StateCorrupt as error:
        raise StateCorrupt(f"{str(path)!r} is not the log of plan.json's run: {error}") from error
    results = LedgerFile(folder.path / NAME).read()
    lines = {job: _line(folder, job, kept.line) for job, kept in results.items()}
    return KeptRun(plan, _origin(folder), entries, state, results, lines)


def _line(folder: RunFolder, job: str, encoded: str) -> LedgerLine:
    try:
        return LedgerLine.model_validate_json(encoded)
    except ValidationError as error:
        raise StateCorrupt(
            f"the ledger line of job {job[:16]} in {str(folder.path / NAME)!r} is not understood: "
            f"{error.error_count()} problem(s); move the file away, and what it held is paid for "
            "again where it is needed"
        ) from error


def _origin(folder: RunFolder) -> dict[str, str]:
    """Read where skill and tasks came from; a damaged file for people costs only that."""
    try:
        spec: Any = yaml.safe_load((folder.path / "spec.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    origin = spec.get("origin") if isinstance(spec, dict) else None
    return {str(name): str(value) for name, value in (origin or {}).items()}
