"""Puts a run back that its Redis has lost, from the run's folder.

Log, results and spending come out as they were. What had not reached the folder (work in flight
when Redis was lost, and results of the last second) is obtained, and paid for, again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from producer.attachments import KeptAttachments
from producer.facts import LedgerFacts, ResultMissing
from producer.folder.ledger import KeptResult
from producer.kept_results import pinned_body
from producer.kept_run import KeptRun, read_run
from producer.run_folder import RunFolder
from producer.run_meta import meta_from_folder
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.item import SPLITS
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import Receipt, ReplyBody
from skillopt.domain.run import RunState
from skillopt.domain.usage import Role
from skillopt.errors import InputError, StateCorrupt
from skillopt.loop.decide import decide
from skillopt.loop.jobs import JobFactory
from skillopt.state.ports import (
    MAX_JOBS_PER_CALL,
    Finished,
    Lead,
    LogEntry,
    Paid,
    State,
)

_OWNER = "restore"


class Restored(BaseModel):
    """What was put back. `present`: the run was there with all that the folder has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str
    what: Literal["restored", "completed", "present"]
    status: str
    events: int
    results: int
    #: Results of which only the score was kept: obtained again where a later step needs them.
    without_reply: int
    #: Calls that the receipts tell of, which count as this run's spending.
    calls: int
    #: What the stage under way still wants: what was in flight, or had not reached the folder.
    wanted: int


def restore(state: State, folder: RunFolder) -> Restored:
    """Put a run back into a state that lacks it, or lacks the end of it.

    Repeating it changes nothing. Raises InputError if somebody is at work on the run there,
    StateCorrupt (with file and line) if the folder is damaged or holds another history of it.
    """
    kept = read_run(folder)
    run = kept.plan.run_id
    if state.runs.info(run) is not None:
        lead = state.runs.lead(run, f"{_OWNER}:{uuid.uuid4().hex}")
        if lead is None:
            raise InputError(
                f"run {run!r} is there and somebody is at work on it; it needs no restoring: stop "
                "that command first if it does"
            )
        try:
            is_new = _put_end(state, lead, folder, kept)
        finally:
            state.runs.resign(lead)
        return _report(state, kept, "completed" if is_new else "present", Paid())
    paid = _put_results(state, folder, kept)
    [plan_hash] = state.blobs.put([kept.plan.model_dump_json().encode()])
    put = state.archive.put_run(
        run,
        meta={**meta_from_folder(kept.origin, kept.plan), "plan": plan_hash},
        entries=kept.entries,
        status=kept.state.status,
        open=kept.state.status == "running",
        paid=paid,
    )
    if not put:
        raise InputError(f"run {run!r} was started again a moment ago; nothing is restored over it")
    return _report(state, kept, "restored", paid)


def restore_if_lost(state: State, folder: RunFolder) -> Restored | None:
    """Put a run back whose folder has more of its log than the state; else do nothing."""
    return restore(state, folder) if _is_ahead(folder, state, folder.read_plan().run_id) else None


def restore_end(state: State, lead: Lead, folder: RunFolder) -> bool:
    """Add what the state has lost of the log of a run that one leads; False if that is nothing."""
    if not _is_ahead(folder, state, lead.run):
        return False
    return _put_end(state, lead, folder, read_run(folder))


def restored_words(restored: Restored) -> str:
    """Say what was put back, and what will be paid for again."""
    if restored.what == "present":
        return f"run {restored.run} is there with all {restored.events} events of its folder"
    again = (
        f"; {restored.without_reply} more have only their scores left, and are paid for again "
        "where they are needed"
        if restored.without_reply
        else ""
    )
    wanted = (
        f". The stage under way wants {restored.wanted} results that the folder does not have: "
        "those among them that had been obtained are paid for again"
        if restored.wanted
        else ""
    )
    what = f"run {restored.run}" if restored.what == "restored" else f"the end of {restored.run}"
    spent = f" ({restored.calls} paid calls count as spent)" if restored.calls else ""
    return (
        f"{what} was put back from its folder, which has {restored.events} events and "
        f"{restored.results} results{spent}{again}{wanted}"
    )


def _is_ahead(folder: RunFolder, state: State, run: str) -> bool:
    kept = folder.last_seq()  # first: a coordinator writes to the state before the folder
    info = state.runs.info(run)
    return kept > (0 if info is None else info.version)


def _put_end(state: State, lead: Lead, folder: RunFolder, kept: KeptRun) -> bool:
    """Add the entries that the state lacks, and the results; False if it has them all."""
    there = state.runs.log(lead.run)
    _require_same_history(there, kept.entries, folder)
    version, status = len(there), kept.state.status
    if version >= len(kept.entries):
        return False
    _put_results(state, folder, kept)
    state.runs.step(
        lead,
        version=version,
        events=[entry.event for entry in kept.entries[version:]],
        status=status,
        open=status == "running",
    )
    return True


def _require_same_history(
    there: Sequence[LogEntry], entries: Sequence[LogEntry], folder: RunFolder
) -> None:
    for mine, theirs in zip(entries, there, strict=False):
        if json.loads(mine.event) != json.loads(theirs.event):
            raise StateCorrupt(
                f"line {mine.seq} of {str(folder.path / 'events.jsonl')!r} is not entry {mine.seq} "
                "of the run that is there: they are two histories of one run; move one away"
            )


def _put_results(state: State, folder: RunFolder, kept: KeptRun) -> Paid:
    """Store attachments, results and ledger; gives what the run has paid for them."""
    KeptAttachments(folder.path, state.blobs).ensure(kept.plan.splits.attachments)
    skills = dict(_skills(kept.state))
    rows = list(kept.results.values())
    for first in range(0, len(rows), MAX_JOBS_PER_CALL):
        batch = rows[first : first + MAX_JOBS_PER_CALL]
        sent = [row.sent.encode() for row in batch if row.sent is not None]
        if sent:
            state.blobs.put(sent)
        finished = [
            Finished(row.job, row.line, row.body, row.receipt or "{}", skills.get(row.job))
            for row in batch
            if row.body is not None and _is_whole(row, kept.lines[row.job])
        ]
        if finished:
            state.claims.commit(finished, owner=_OWNER)
    state.archive.put_ledger(kept.plan.run_id, {row.job: row.line for row in rows})
    return _paid(kept, skills)


def _is_whole(row: KeptResult, line: LedgerLine) -> bool:
    body = None if row.body is None else pinned_body(row.body, line)
    if body is None:
        return False
    if body.trajectory is None:
        return True
    return row.sent is not None and sha256_hex(row.sent.encode()) == body.trajectory


def _skills(state: RunState) -> Iterator[tuple[str, str]]:
    """Give every attempt that the run can have made, and the document it was made with."""
    plan, factory = state.plan, JobFactory(state.plan, state.run)
    most = max(plan.settings.train.samples, plan.settings.evaluation.samples * max(plan.arms, 1))
    for key, documents in state.texts.items():
        for split in SPLITS:
            for item in plan.splits.of(split):
                for sample in range(most):
                    spec = factory.rollout(key, documents, item, sample)
                    yield spec.id, spec.skill


def _paid(kept: KeptRun, attempts: Mapping[str, str]) -> Paid:
    """Sum the receipts of what this run paid for itself."""
    calls: dict[Role, int] = {}
    tokens_in = tokens_out = micro_usd = estimated = 0
    for job, row in kept.results.items():
        line = kept.lines[job]
        if row.receipt is None or line.payer != kept.plan.run_id:
            continue
        receipt = _receipt(row.receipt)
        role: Role = "target" if job in attempts else _role(row, line)
        calls[role] = calls.get(role, 0) + receipt.calls
        tokens_in += receipt.input_tokens
        tokens_out += receipt.output_tokens
        micro_usd += receipt.cost_micro_usd
        estimated += receipt.input_tokens + receipt.output_tokens if receipt.estimated else 0
    return Paid(calls, tokens_in, tokens_out, micro_usd, estimated)


def _wanted(state: State, kept: KeptRun) -> int:
    run = kept.plan.run_id
    ledger = {job: row.line for job, row in kept.results.items()}
    facts = LedgerFacts(run, ledger, state.results, state.blobs)
    while True:
        try:
            return len(decide(kept.state, facts, JobFactory(kept.plan, run)).wanted)
        except ResultMissing as missing:
            facts.forget(missing.job)  # as its coordinator will do


def _receipt(encoded: str) -> Receipt:
    try:
        return Receipt.model_validate_json(encoded)
    except ValidationError:
        return Receipt()  # of another version: what it says is lost, the result is not


def _role(row: KeptResult, line: LedgerLine) -> Role:
    body = None if row.body is None else pinned_body(row.body, line)
    return "optimizer" if isinstance(body, ReplyBody) else "judge"


def _report(
    state: State, kept: KeptRun, what: Literal["restored", "completed", "present"], paid: Paid
) -> Restored:
    whole = sum(_is_whole(row, kept.lines[job]) for job, row in kept.results.items())
    return Restored(
        run=kept.plan.run_id,
        what=what,
        status=kept.state.status,
        events=len(kept.entries),
        results=whole,
        without_reply=len(kept.results) - whole,
        calls=sum(paid.calls.values()),
        wanted=_wanted(state, kept),
    )
