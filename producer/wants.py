"""The jobs a run waits for: asked of the board, sent, and given up once nobody needs them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from producer.answers import Progress, absorb, is_hopeless
from producer.facts import LedgerFacts
from producer.shares import WEIGHTS, windows
from skillopt.domain.events import Event
from skillopt.domain.run import RunState
from skillopt.domain.throttling import waiting_for
from skillopt.domain.timing import Timing
from skillopt.domain.usage import Role
from skillopt.domain.view import ShareView
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.state.ports import (
    Demand,
    Lane,
    Lead,
    State,
    Want,
    WantAnswer,
    WantStatus,
    WorkerInfo,
)

#: What a backend without workers, or with few, is taken to hold; and the most that one run has in
#: flight on a backend, unless it was given a window of its own.
MIN_ROOM, MAX_WINDOW = 4, 256
#: Jobs that a backend is taken to hold for each that its workers can be at: the next one is there
#: when one ends.
JOBS_PER_SLOT = 2

#: Blobs are stored again after this long, so that they outlive a long run.
BLOB_RENEWAL_S = 3_600.0

_UNDER_WAY = (WantStatus.SEND, WantStatus.QUEUED, WantStatus.LEASED)
_REGISTERED = (*_UNDER_WAY, WantStatus.HELD)


class Sender(Protocol):
    def send(self, run: str, job: WantedJob, *, backend: str, lane: Lane) -> None: ...


class Attachments(Protocol):
    """What a run's tasks bring with them, kept where a lost blob can be stored anew from."""

    def ensure(self, hashes: Collection[str], *, verify: bool = False) -> None: ...


class Wants:
    """What one coordinator has asked for on behalf of one run."""

    def __init__(
        self,
        lead: Lead,
        state: State,
        sender: Sender,
        timing: Timing,
        backends: Mapping[Role, str],
        attachments: Attachments | None = None,
    ) -> None:
        self._lead = lead
        self._ports = state
        self._sender = sender
        self._timing = timing
        self._backends = backends
        self._attachments = attachments
        self._stored_at: dict[int, float] = {}
        self._ensured_at: dict[str, float] = {}
        self._missed: set[str] = set()
        self._sent: set[str] = set()
        self._open: set[str] = set()
        #: Backends that the run has a demand on.
        self._demanded: set[str] = set()

    def inherit(self, jobs: Iterable[str]) -> None:
        """Take over jobs that an earlier coordinator of the run may still wait for."""
        self._open.update(jobs)

    def ask_all(
        self, state: RunState, wanted: Sequence[WantedJob], facts: LedgerFacts
    ) -> tuple[Progress, list[Event]]:
        """Ask for all jobs, in order of importance, as far as the run's share of each backend
        goes; gives the events of those given up.
        """
        self.drop_all_but(job.id for job in wanted)
        by_backend: dict[str, list[WantedJob]] = {}
        for job in wanted:
            by_backend.setdefault(self._backends[job.role], []).append(job)
        workers = self._ports.fleet.workers()
        self._withdraw(self._demanded.difference(by_backend))
        progress, gave_up = Progress(), list[Event]()
        throttled = self._ports.throttle.waiting(list(by_backend))
        for backend, jobs in by_backend.items():
            live = [w for w in workers if w.backend == backend]
            room = self._room(state, backend, len(jobs), live)
            due = self._within(jobs, room)
            answers = self._want(backend, due, room)
            gave_up += absorb(
                backend, due, answers, facts=facts, progress=progress, timing=self._timing
            )
            explained = any(answer.status is WantStatus.HELD for answer in answers)
            idle = all(answer.status is WantStatus.HIT for answer in answers)
            if not idle and not any(w.lane == "normal" for w in live):
                progress.reasons += (f"waiting for a worker of backend {backend!r}",)
            if not idle and room == 0:
                progress.reasons += (
                    f"waiting: other runs of owner {state.plan.owner!r} use all that their quota "
                    f"allows on backend {backend!r}",
                )
            under_way = sum(answer.status in _UNDER_WAY for answer in answers)
            progress.shares += (
                ShareView(backend=backend, in_flight=under_way, window=room, wanted=len(jobs)),
            )
            if not idle and not explained and backend in throttled:
                progress.reasons += (waiting_for(backend, throttled[backend], datetime.now(UTC)),)
        return progress, gave_up

    def drop_all_but(self, wanted: Iterable[str]) -> None:
        """Stop waiting for jobs that a decision needs no longer; nobody else's are touched."""
        self._unwant(list(self._open.difference(wanted)))

    def rest(self) -> None:
        """Let nothing begin any more; what workers are at comes to its end."""
        self._unwant(list(self._open), keep_leased=True)

    def leave(self) -> None:
        """Give the run's share of every backend to others."""
        self._withdraw(set(self._demanded))

    def _unwant(self, jobs: list[str], *, keep_leased: bool = False) -> None:
        if jobs:
            self._ports.board.unwant(self._lead, jobs, keep_leased=keep_leased)
        self._open.difference_update(jobs)

    def _withdraw(self, backends: set[str]) -> None:
        for backend in backends:
            self._ports.shares.withdraw(backend, self._lead.run)
        self._demanded -= backends

    def _room(self, state: RunState, backend: str, wanted: int, live: Sequence[WorkerInfo]) -> int:
        """Say what the run wants of a backend, and give its fair part of it."""
        demand = Demand(
            run=self._lead.run,
            owner=state.plan.owner,
            wanted=wanted,
            weight=WEIGHTS[state.priority],
            window=MAX_WINDOW if state.window is None else state.window,
        )
        self._demanded.add(backend)
        demands = self._ports.shares.report(backend, demand)
        capacity = sum(worker.capacity for worker in live)
        return windows(max(MIN_ROOM, JOBS_PER_SLOT * capacity), demands)[self._lead.run]

    def _within(self, jobs: list[WantedJob], room: int) -> list[WantedJob]:
        """Leave out what is known to have no result and would not fit into the window.

        What was sent while the window was larger is asked for all the same: it may be done.
        """
        due = [
            job
            for n, job in enumerate(jobs)
            if n < room or job.id not in self._missed or job.id in self._open
        ]
        self._missed.update(job.id for job in due)
        return due

    def _want(self, backend: str, jobs: list[WantedJob], room: int) -> list[WantAnswer]:
        answers = {answer.job: answer for answer in self._ask(backend, jobs, room)}
        stale = [
            job
            for job in jobs
            if job.id not in self._sent and is_hopeless(answers[job.id], self._timing)
        ]
        if stale:
            # Given back before this driver began, or to another run: what was wrong then (a
            # refused key, an outage) may be mended, so each job gets a try of our own.
            self._ports.board.retry(self._lead, [job.id for job in stale])
            answers |= {answer.job: answer for answer in self._ask(backend, stale, len(stale))}
        return [answers[job.id] for job in jobs]

    def _ask(self, backend: str, jobs: list[WantedJob], room: int) -> list[WantAnswer]:
        wants = [Want(job.id, job.spec.encoded) for job in jobs]
        answers = self._ports.board.want(self._lead, wants, room=room)
        pairs = zip(jobs, answers, strict=True)
        due = [(job, answer) for job, answer in pairs if answer.status is WantStatus.SEND]
        self._store(due)
        for job, answer in due:
            self._sender.send(self._lead.run, job, backend=backend, lane=answer.lane)
            self._sent.add(job.id)
        for answer in answers:
            if answer.status in _REGISTERED:
                self._open.add(answer.job)
            elif answer.status is not WantStatus.LATER:  # which changes nothing
                self._open.discard(answer.job)
        return answers

    def _store(self, due: list[tuple[WantedJob, WantAnswer]]) -> None:
        """Store the texts of jobs about to be sent; a job given back gets them anew."""
        now = time.monotonic()
        fresh: dict[bytes, None] = {}
        for job, answer in due:
            for blob in job.blobs:
                age_s = now - self._stored_at.get(hash(blob), -BLOB_RENEWAL_S)
                if answer.rounds > 0 or age_s >= BLOB_RENEWAL_S:
                    fresh[blob] = None
        if fresh:
            self._ports.blobs.put(list(fresh))
            self._stored_at.update(dict.fromkeys(map(hash, fresh), now))
        if self._attachments is not None:
            self._ensure(self._attachments, due, now)

    def _ensure(
        self, attachments: Attachments, due: list[tuple[WantedJob, WantAnswer]], now: float
    ) -> None:
        """Renew the files of jobs about to be sent; those of a job given back may be lost."""
        doubted = {sha for job, answer in due if answer.rounds > 0 for sha in job.attachments}
        aged = {
            sha
            for job, _ in due
            for sha in job.attachments
            if now - self._ensured_at.get(sha, -BLOB_RENEWAL_S) >= BLOB_RENEWAL_S
        }
        for hashes, verify in ((doubted, True), (aged - doubted, False)):
            if hashes:
                attachments.ensure(sorted(hashes), verify=verify)
                self._ensured_at.update(dict.fromkeys(hashes, now))


def left_open(state: RunState, facts: Facts, factory: JobFactory) -> list[str]:
    """Name the jobs that the last gate began and then could do without."""
    if not state.gates or not state.gates[-1].early:
        return []
    skill = state.gates[-1].skill
    documents, samples = state.texts[skill], state.plan.settings.evaluation.samples
    jobs = []
    for item in state.plan.splits.val:
        for sample in range(samples):
            rollout = factory.rollout(skill, documents, item, sample).id
            reply = facts.line(rollout)
            if reply is None:
                jobs.append(rollout)
            elif reply.outcome != "invalid":
                jobs.append(factory.judge(item, reply.to_judge).id)
    return [job for job in jobs if facts.line(job) is None]
