"""A run's folder: everything a run leaves on disk.

plan.json       the plan: with log and ledger, all that is needed to restore the run
spec.yaml       the resolved settings and where skill and tasks came from, for people
events.jsonl    the mirror of the log; every other file derives from it
history.jsonl   one row per ended step, free of times and machines
skills/         the skill in every state of the run: <step>-<hash16>.md, 0000 is the initial one
memories/       the memory document in the same states under the same names, if there is one
best_skill.md   the best skill so far
best_skill/     the best skill with all that lies beside it, if the skill is a folder
best_memory.md  the memory document that goes with it, if there is one
summary.json    scores, calls, money
ledger.jsonl.zst  every result the run goes by, whole: with plan and log, the run itself
rollouts/       what was sent and answered, by stage: <stage>.jsonl.zst
attachments/    the files that come with the tasks, each named by its sha256, if there are any
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
import zstandard
from pydantic import ValidationError

from producer.folder.documents import write_documents
from producer.folder.durable import sweep_drafts, write_durably
from producer.folder.history import history_bytes
from producer.folder.mirror import EventMirror
from producer.records import CallRecord, decode_record, encode_records
from producer.stored_log import folded
from producer.summary import Summary
from skillopt.domain.backend import BackendUse
from skillopt.domain.events import RunCreated, decode_event
from skillopt.domain.item import SPLITS
from skillopt.domain.misread import in_short
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.errors import InputError, StateCorrupt
from skillopt.state.ports import LogEntry

RECORD_SUFFIX = ".jsonl.zst"
#: Where files are written, the folder itself included; what is in best_skill/ is the user's own.
_WRITTEN = ("", "skills", "memories", "rollouts", "attachments")
#: Runs named in a message about an ambiguous or unknown reference.
LISTED_RUNS = 8


class RunFolder:
    """One run's folder. Whoever takes a run over completes it with `mirror` and `derive`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mirror = EventMirror(path / "events.jsonl")

    def create(self, plan: RunPlan, origin: Mapping[str, str]) -> None:
        """Lay the folder out, or bring the plan of the same run up to date (a raised budget).

        `origin` says in words where skill and tasks came from. Raises InputError if the folder
        holds another run.
        """
        if (self.path / "plan.json").exists():
            present = self.read_plan().run_id
            if present != plan.run_id:
                raise InputError(
                    f"folder {str(self.path)!r} holds run {present!r}, not {plan.run_id!r}; "
                    "choose another folder or move it away"
                )
        for name in ("skills", "rollouts"):
            (self.path / name).mkdir(parents=True, exist_ok=True)
        write_durably(self.path / "plan.json", plan.model_dump_json(indent=1).encode() + b"\n")
        write_durably(self.path / "spec.yaml", _readable(plan, origin))

    # --- the log ----------------------------------------------------------------------------

    def mirror(self, entries: Sequence[LogEntry]) -> int:
        """Append the entries the folder does not have, durably; returns how many they were.

        Raises StateCorrupt if an entry is missing in between, or differs from what is there.
        """
        self._require()
        return self._mirror.append(entries)

    def last_seq(self) -> int:
        """Give the number of the last entry the folder has; 0 if none."""
        return self._mirror.last_seq()

    def read_entries(self) -> list[LogEntry]:
        """Read the mirrored log; a torn last line is not part of it."""
        self._require()
        return self._mirror.entries()

    def read_plan(self) -> RunPlan:
        """Read the plan. Raises InputError if this is not a run's folder."""
        self._require()
        try:
            return RunPlan.model_validate_json((self.path / "plan.json").read_bytes())
        except ValidationError as error:
            raise InputError(
                f"plan.json in {str(self.path)!r} is not the plan of a run of this version: "
                f"{error.error_count()} problem(s); name the folder of a run"
            ) from error

    def state(self) -> RunState:
        """Give the state of the run as far as it is mirrored."""
        plan, entries = self.read_plan(), self.read_entries()
        if not entries:
            raise InputError(
                f"run folder {str(self.path)!r} has no events yet; continue the run first"
            )
        return folded(plan, entries)

    # --- what derives from it ---------------------------------------------------------------

    def sweep(self) -> None:
        """Remove what a killed writer left half written; for whoever takes the run over."""
        for name in _WRITTEN:
            sweep_drafts(self.path / name)

    def derive(self, state: RunState) -> None:
        """Write history and documents; files that are right stay untouched."""
        write_durably(self.path / "history.jsonl", history_bytes(state))
        write_documents(self.path, state)

    def write_summary(self, summary: Summary) -> None:
        """Write summary.json; what only the present command knows stays out of it."""
        kept = summary.model_copy(update={"new_calls": None})
        write_durably(self.path / "summary.json", kept.model_dump_json(indent=2).encode() + b"\n")

    def read_summary(self) -> Summary | None:
        """Read summary.json; None before it is first written."""
        self._require()
        path = self.path / "summary.json"
        try:
            return Summary.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise StateCorrupt(
                f"{str(path)!r} is not a run's summary: {in_short(error)}"
            ) from error

    # --- records ----------------------------------------------------------------------------

    def record_names(self) -> set[str]:
        """Name the stages whose records are written."""
        folder = self.path / "rollouts"
        if not folder.is_dir():
            return set()
        return {path.name.removesuffix(RECORD_SUFFIX) for path in folder.glob(f"*{RECORD_SUFFIX}")}

    def write_records(self, name: str, records: Sequence[CallRecord]) -> None:
        content = zstandard.ZstdCompressor(level=9).compress(encode_records(records))
        write_durably(self.path / "rollouts" / f"{name}{RECORD_SUFFIX}", content)

    def records(
        self, *, step: int | None = None, item: str | None = None, job: str | None = None
    ) -> Iterator[CallRecord]:
        """Give the records in order of their files, narrowed to a step, a task, a job (prefix).

        Of one step only its own files are read: those of a long run are many.
        """
        self._require()
        files = "*" if step is None else f"step-{step:04d}-*"
        for path in sorted((self.path / "rollouts").glob(f"{files}{RECORD_SUFFIX}")):
            for line in _lines(path):
                record = decode_record(line)
                if record.matches(step=step, item=item, job=job):
                    yield record

    def records_of(self, name: str) -> Iterator[CallRecord]:
        """Give the records of one file, in order."""
        for line in _lines(self.path / "rollouts" / f"{name}{RECORD_SUFFIX}"):
            yield decode_record(line)

    def _require(self) -> None:
        if not (self.path / "plan.json").is_file():
            raise InputError(
                f"{str(self.path)!r} is not a run folder: it has no plan.json; "
                "name the folder of a run"
            )


def find_run(runs: Path, reference: str) -> RunFolder:
    """Find a run's folder by id, name, unique prefix of its id, or "last".

    `runs` holds one folder per run, named by its id. "last" is the run whose log changed last.
    Raises InputError, with the candidates, if no run or more than one is meant.
    """
    paths = sorted(path.parent for path in runs.glob("*/plan.json"))
    if not paths:
        raise InputError(f"there is no run in {str(runs)!r}; start one with `skillopt run SPEC`")
    if reference == "last":
        return RunFolder(max(paths, key=_changed))
    named = [path for path in paths if path.name == reference]
    named = named or [path for path in paths if _name(path) == reference]
    named = named or [path for path in paths if reference and path.name.startswith(reference)]
    if len(named) == 1:
        return RunFolder(named[0])
    candidates = sorted(named or paths, key=_changed, reverse=True)
    listed = ", ".join(path.name for path in candidates[:LISTED_RUNS])
    more = f" and {len(candidates) - LISTED_RUNS} more" if len(candidates) > LISTED_RUNS else ""
    if named:
        raise InputError(f"{reference!r} means several runs: {listed}{more}; give more of the id")
    raise InputError(f"no run {reference!r} in {str(runs)!r}; there are: {listed}{more}")


def _changed(path: Path) -> int:
    log = path / "events.jsonl"
    return (log if log.exists() else path).stat().st_mtime_ns


def _name(path: Path) -> str | None:
    """Read a run's name off its first event: plans are large."""
    first = EventMirror(path / "events.jsonl").first()
    created = decode_event(first.event) if first else None
    return created.name if isinstance(created, RunCreated) else None


def _readable(plan: RunPlan, origin: Mapping[str, str]) -> bytes:
    """Write the settings as a person reads them: backends by name, tasks by number."""
    settings: dict[str, Any] = plan.settings.model_dump(mode="json")
    spec: dict[str, Any] = {
        "name": plan.name,
        "mode": plan.mode,
        **({"eval_split": plan.eval_split} if plan.eval_split else {}),
        "origin": dict(origin),
        "skill_hash": plan.initial_key,
        "spec_hash": plan.identity,
        "env": plan.env,
        "tasks": {split: len(plan.splits.of(split)) for split in SPLITS},
        "model": {role: _readable_use(use) for role, use in plan.backends.items()},
        "backend_fingerprints": {role: use.fingerprint for role, use in plan.backends.items()},
        "judge_versions": dict(plan.judge_versions),
        **settings,
        "budget": plan.budget.model_dump(mode="json"),
    }
    return yaml.safe_dump(spec, sort_keys=False, allow_unicode=True).encode()


def _readable_use(use: BackendUse) -> str | dict[str, Any]:
    """Write a role as a spec has it: a name, or with all parameters of what it changes."""
    changed: dict[str, Any] = {}
    if use.params is not None:
        changed["params"] = use.told
    if use.stages:
        changed["stages"] = {stage: at.told for stage, at in use.stages.items()}
    return {"use": use.backend, **changed} if changed else use.backend


def _lines(path: Path) -> list[bytes]:
    try:
        return zstandard.ZstdDecompressor().decompress(path.read_bytes()).splitlines()
    except zstandard.ZstdError as error:
        raise StateCorrupt(f"{str(path)!r} cannot be unpacked: {error}") from error
