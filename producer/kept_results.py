"""Keeps every result that a run goes by in its folder, so that losing Redis loses none of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from producer.folder.ledger import NAME, KeptResult, LedgerFile
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import BODY, Body
from skillopt.state.ports import MAX_JOBS_PER_CALL, State

#: Results that came within this time of each other are written together.
GATHER_S = 1.0


class KeptResults:
    """The results of one run, in a file of its folder; for whoever leads the run."""

    def __init__(self, run_folder: Path, ports: State) -> None:
        self._file = LedgerFile(run_folder / NAME)
        self._ports = ports
        #: Digest by job of what the file has; None before it was looked at.
        self._digests: dict[str, str] | None = None
        self._written_at = 0.0

    def keep(self, lines: Mapping[str, LedgerLine], *, now: bool = False) -> None:
        """Write what the file lacks: all of it `now`, and durably, else once in a while."""
        if not now and time.monotonic() - self._written_at < GATHER_S:
            return
        known = self._known()
        new = [job for job, line in lines.items() if known.get(job) != line.digest]
        for first in range(0, len(new), MAX_JOBS_PER_CALL):
            jobs = new[first : first + MAX_JOBS_PER_CALL]
            self._file.append(self._read(jobs, lines))
            known.update({job: lines[job].digest for job in jobs})
        if now:
            self._file.sync()
        self._written_at = time.monotonic()

    def _known(self) -> dict[str, str]:
        if self._digests is None:
            self._digests = {
                job: LedgerLine.model_validate_json(kept.line).digest
                for job, kept in self._file.read().items()
            }
        return self._digests

    def _read(self, jobs: Sequence[str], lines: Mapping[str, LedgerLine]) -> list[KeptResult]:
        found = self._ports.results.get(jobs)
        bodies = {job: pinned_body(one.body, lines[job]) for job, one in found.items()}
        names = {job: body.trajectory for job, body in bodies.items() if body and body.trajectory}
        blobs = self._ports.blobs.get(list(dict.fromkeys(names.values()))) if names else {}
        rows: list[KeptResult] = []
        for job in jobs:
            line = lines[job].model_dump_json(exclude_none=True)
            one = found.get(job)
            if one is None or bodies[job] is None:
                rows.append(KeptResult(job=job, line=line))
                continue
            sent = blobs.get(names.get(job, ""))
            rows.append(
                KeptResult(
                    job=job,
                    line=line,
                    body=one.body,
                    receipt=one.receipt,
                    sent=None if sent is None else sent.decode(),
                )
            )
        return rows


def pinned_body(encoded: str, line: LedgerLine) -> Body | None:
    """Read a result's body; None unless it is the very one that a ledger's line names."""
    try:
        body = BODY.validate_json(encoded)
    except ValidationError:
        return None  # of a version that we do not understand: of no use to anybody here
    return body if body.digest == line.digest else None
