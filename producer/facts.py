"""A run's ledger and results, as its coordinator sees them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from pydantic import ValidationError

from skillopt.domain.messages import Message, decode_messages
from skillopt.domain.misread import in_short
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import BODY, Body, ReplyBody
from skillopt.errors import StateCorrupt
from skillopt.state.ports import Blobs, Results

#: Bodies kept in memory; the store has the rest.
BODY_CACHE = 4_096
#: Conversations kept in memory: those of a batch are looked at in every round.
CONVERSATION_CACHE = 512


class ResultMissing(StateCorrupt):
    """A result in the ledger is not stored any more, or not in a form we understand."""

    def __init__(self, job: str) -> None:
        super().__init__(f"the result of job {job[:16]} cannot be had any more")
        self.job = job


class LedgerFacts:
    """Lines from the ledger, bodies from the results they pin."""

    def __init__(self, run: str, ledger: dict[str, str], results: Results, blobs: Blobs) -> None:
        self._run = run
        self._results = results
        self._blobs = blobs
        self._lines = {job: _line(job, raw) for job, raw in ledger.items()}
        self._bodies: OrderedDict[str, Body] = OrderedDict()
        self._conversations: OrderedDict[str, tuple[Message, ...]] = OrderedDict()

    def line(self, job: str) -> LedgerLine | None:
        return self._lines.get(job)

    def body(self, job: str) -> Body:
        known = self._bodies.get(job)
        if known is not None:
            self._bodies.move_to_end(job)
            return known
        stored = self._results.get([job]).get(job)
        if stored is None:
            raise ResultMissing(job)
        try:
            body = BODY.validate_json(stored.body)
        except ValidationError as error:
            # Written by another version: what it says is lost to us, and is obtained anew.
            raise ResultMissing(job) from error
        if body.digest != self._lines[job].digest:
            raise ResultMissing(job)
        self._bodies[job] = body
        if len(self._bodies) > BODY_CACHE:
            self._bodies.popitem(last=False)
        return body

    def messages(self, job: str) -> tuple[Message, ...]:
        """Give the conversation of a rollout; raises ResultMissing if it is not stored."""
        known = self._conversations.get(job)
        if known is None:
            known = self._conversations[job] = self._read_messages(job)
            if len(self._conversations) > CONVERSATION_CACHE:
                self._conversations.popitem(last=False)
        return known

    def _read_messages(self, job: str) -> tuple[Message, ...]:
        body = self.body(job)
        trajectory = body.trajectory if isinstance(body, ReplyBody) else None
        if trajectory is None:
            return ()
        stored = self._blobs.get([trajectory]).get(trajectory)
        if stored is None:
            raise ResultMissing(job)
        try:
            return decode_messages(stored)
        except StateCorrupt as error:
            raise ResultMissing(job) from error

    @property
    def lines(self) -> Mapping[str, LedgerLine]:
        return self._lines

    def add(self, job: str, raw: str) -> None:
        self._lines[job] = _line(job, raw)

    def forget(self, job: str) -> None:
        self._lines.pop(job, None)
        self._bodies.pop(job, None)
        self._conversations.pop(job, None)

    @property
    def cache_hits(self) -> int:
        """Model replies that another run paid for; a local judgement costs nobody anything."""
        return sum(line.payer != self._run for line in self._model_replies)

    @property
    def replies(self) -> int:
        """Model replies in the ledger, whoever paid for them."""
        return len(self._model_replies)

    @property
    def _model_replies(self) -> list[LedgerLine]:
        lines = self._lines.values()
        return [line for line in lines if line.hard is None or line.by_model]


def _line(job: str, raw: str) -> LedgerLine:
    try:
        return LedgerLine.model_validate_json(raw)
    except ValidationError as error:
        raise StateCorrupt(
            f"ledger line of job {job!r} is not understood: {in_short(error)}; continue the run "
            "with the version that wrote it, or start it anew with --new, which uses its results"
        ) from error
