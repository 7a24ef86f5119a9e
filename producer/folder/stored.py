"""The results behind a run's ledger, read in bulk for its records."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from producer.records import CallReceipt
from skillopt.domain.messages import Message, decode_messages
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import BODY, Body, Receipt, ReplyBody
from skillopt.errors import StateCorrupt
from skillopt.loop.facts import Facts
from skillopt.state.ports import State, StoredResult


@dataclass(frozen=True)
class StoredCall:
    line: LedgerLine
    body: Body
    receipt: CallReceipt


class LinesOnly:
    """Facts that know no bodies: enough to find job ids, which follow from the lines alone.

    A job in `given_up` had no result at the time that is meant, whatever became of it later.
    """

    def __init__(self, facts: Facts, given_up: Collection[str] = ()) -> None:
        self._facts = facts
        self._given_up = given_up

    def line(self, job: str) -> LedgerLine | None:
        return None if job in self._given_up else self._facts.line(job)

    def body(self, job: str) -> Body:
        return ReplyBody(text="")

    def messages(self, job: str) -> tuple[Message, ...]:
        return ()


class StoredCalls:
    """The stored results behind a ledger; what is stored no longer counts as unknown here.

    A result counts only if the ledger pins that very one: a reply that another run obtained
    after ours expired is not what this run saw.
    """

    def __init__(self, ports: State, run: str, ledger: Facts) -> None:
        self._ports = ports
        self._run = run
        self._ledger = ledger
        self._calls: dict[str, StoredCall | None] = {}

    def load(self, jobs: Iterable[str]) -> None:
        """Read results that were not read before, in one call."""
        unread = [job for job in dict.fromkeys(jobs) if job not in self._calls]
        found = self._ports.results.get(unread) if unread else {}
        for job in unread:
            self._calls[job] = self._read(job, found.get(job))

    def call(self, job: str) -> StoredCall | None:
        """Give what is stored of a job; None if it is missing or not understood."""
        self.load([job])
        return self._calls[job]

    def sent(self, jobs: Iterable[str]) -> dict[str, tuple[Message, ...]]:
        """Give what was sent in the calls of jobs, as far as it is still stored."""
        blobs = {
            job: call.body.trajectory
            for job in jobs
            if (call := self.call(job)) and call.body.trajectory
        }
        found = self._ports.blobs.get(list(dict.fromkeys(blobs.values()))) if blobs else {}
        decoded: dict[str, tuple[Message, ...]] = {}
        for job, blob in blobs.items():
            try:
                decoded[job] = decode_messages(found[blob])
            except (KeyError, StateCorrupt):
                continue  # absent from the answer: the record says that it is not stored
        return decoded

    def _read(self, job: str, stored: StoredResult | None) -> StoredCall | None:
        pinned = self._ledger.line(job)
        if pinned is None or stored is None:
            return None
        try:
            line = LedgerLine.model_validate_json(stored.line)
            body = BODY.validate_json(stored.body)
            receipt = Receipt.model_validate_json(stored.receipt)
        except ValidationError:
            return None  # written by a version whose results we do not understand
        if line.digest != pinned.digest:
            return None
        from_cache = pinned.payer != self._run
        return StoredCall(pinned, body, CallReceipt(**receipt.model_dump(), from_cache=from_cache))
