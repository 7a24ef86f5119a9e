"""A team of coordinators and workers that misbehave, for hypothesis to drive.

Messages are lost and doubled, leases lapse, workers vanish or come back too late, coordinators
go on although somebody took over. The model keeps only who was granted what last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from jobs import finished, want_all
from state_adapters import Adapter

from skillopt.errors import Fenced, StaleVersion
from skillopt.state.ports import ClaimStatus, Lane, Lead, RenewStatus, WantStatus

RUNS = ("r1", "r2")
JOBS = ("a", "b")

runs = st.sampled_from(RUNS)
coordinators = st.sampled_from(("c1", "c1", "c1", "c2"))
some_jobs = st.lists(st.sampled_from(JOBS), min_size=1, max_size=2, unique=True)
some_room = st.sampled_from((2, 2, 2, 1, 0))
some_index = st.integers(0, 50)
copies = st.sampled_from((1, 1, 1, 0, 2))  # of a message, that arrive


@dataclass(frozen=True)
class Message:
    job: str
    run: str
    lane: Lane


@dataclass(frozen=True)
class Work:
    job: str
    owner: str


@dataclass
class RunModel:
    #: The newest lead granted, None once it was given up; the highest fence so far.
    present: Lead | None = None
    fence: int = 0
    log: list[str] = field(default_factory=list)
    wanted: set[str] = field(default_factory=set)
    #: What each coordinator believes to hold.
    believed: dict[str, Lead] = field(default_factory=dict)


class QueueMachine(RuleBasedStateMachine):
    def __init__(self, adapter: Adapter) -> None:
        super().__init__()
        self.adapter = adapter
        self.state = adapter.state
        self.models = {run: RunModel() for run in RUNS}
        self.queue: list[Message] = []
        self.works: list[Work] = []
        self.holder: dict[str, str] = {}
        self.committed: dict[str, tuple[str, str]] = {}
        self.owners = 0
        for run in RUNS:
            assert self.state.runs.create(run, meta={}, events=[], status="new")

    # --- coordinators

    @initialize()
    def begin(self) -> None:
        for run in RUNS:
            self.lead(run, "c1")

    @rule(run=runs, coordinator=coordinators)
    def lead(self, run: str, coordinator: str) -> None:
        model = self.models[run]
        lead = self.state.runs.lead(run, coordinator)
        if lead is None:
            assert model.present is not None
            assert model.present.owner != coordinator
            return
        if model.present is not None and model.present.owner == coordinator:
            assert lead == model.present
        else:
            assert lead.fence > model.fence
        model.present, model.fence = lead, lead.fence
        model.believed[coordinator] = lead

    @rule(run=runs, coordinator=coordinators)
    def resign(self, run: str, coordinator: str) -> None:
        model = self.models[run]
        lead = model.believed.get(coordinator)
        if lead is not None:
            self.state.runs.resign(lead)
            model.present = None if lead == model.present else model.present

    def _as_believed(
        self, run: str, coordinator: str, act: Callable[[Lead], object]
    ) -> object | None:
        """Act on a lead that may be outdated: exactly then it must be refused."""
        model = self.models[run]
        lead = model.believed.get(coordinator)
        if lead is None:
            return None
        if lead == model.present:
            return act(lead)
        try:
            act(lead)
        except Fenced:
            return None
        raise AssertionError(f"{lead} acted although {model.present} leads")

    @rule(run=runs, coordinator=coordinators, jobs=some_jobs, room=some_room, copies=copies)
    def want(self, run: str, coordinator: str, jobs: list[str], room: int, copies: int) -> None:
        def act(lead: Lead) -> None:
            answers = want_all(self.state, lead, jobs, room=room)
            registered = [
                answer
                for answer in answers
                if answer.status not in (WantStatus.HIT, WantStatus.LATER, WantStatus.DEAD)
            ]
            assert len(registered) <= room
            for answer in answers:
                if answer.status is not WantStatus.LATER:
                    self.models[run].wanted.add(answer.job)
                self._check(answer.job, answer.status, answer.line, answer.reason)
                if answer.status is WantStatus.SEND:
                    self.queue += [Message(answer.job, run, answer.lane)] * copies

        self._as_believed(run, coordinator, act)

    def _check(self, job: str, status: WantStatus, line: str | None, reason: str) -> None:
        if job in self.committed:
            assert (status, line) == (WantStatus.HIT, self.committed[job][1])
        else:
            assert status is not WantStatus.HIT
        if status is WantStatus.DEAD:
            assert reason.startswith("lost: ")

    @rule(run=runs, coordinator=coordinators, jobs=some_jobs)
    def unwant(self, run: str, coordinator: str, jobs: list[str]) -> None:
        def act(lead: Lead) -> None:
            self.state.board.unwant(lead, jobs)
            self.models[run].wanted.difference_update(jobs)

        self._as_believed(run, coordinator, act)

    @rule(run=runs, coordinator=coordinators, jobs=some_jobs)
    def retry(self, run: str, coordinator: str, jobs: list[str]) -> None:
        self._as_believed(run, coordinator, lambda lead: self.state.board.retry(lead, jobs))

    @rule(run=runs, coordinator=coordinators, behind=st.sampled_from((0, 0, 0, 1)))
    def step(self, run: str, coordinator: str, behind: int) -> None:
        log = self.models[run].log

        def act(lead: Lead) -> None:
            event = f"{coordinator} {len(log)}"
            try:
                self.state.runs.step(
                    lead, version=len(log) - behind, events=[event], status="on", open=True
                )
            except StaleVersion:
                assert behind
            else:
                assert not behind
                log.append(event)

        self._as_believed(run, coordinator, act)

    # --- workers

    @precondition(lambda self: self.queue)
    @rule(index=some_index)
    def deliver(self, index: int) -> None:
        self._claim(self.queue.pop(index % len(self.queue)))

    def _claim(self, message: Message) -> Work | None:
        self.owners += 1
        work = Work(message.job, f"w{self.owners}")
        claim = self.state.claims.claim(
            message.job, run=message.run, owner=work.owner, lane=message.lane
        )
        assert (claim.status is ClaimStatus.DONE) == (message.job in self.committed)
        if claim.status is not ClaimStatus.RUN:
            return None
        before = self.holder.get(work.job)
        if before is not None:
            assert self.state.claims.renew({work.job: before}) == {work.job: RenewStatus.LOST}
        self.holder[work.job] = work.owner
        self.works.append(work)
        return work

    @precondition(lambda self: self.works)
    @rule(index=some_index)
    def renew(self, index: int) -> None:
        work = self.works[index % len(self.works)]
        if self.state.claims.renew({work.job: work.owner})[work.job] is not RenewStatus.LOST:
            assert self.holder[work.job] == work.owner

    @precondition(lambda self: self.works)
    @rule(index=some_index, delay_s=st.sampled_from((0, 20)), draining=st.booleans())
    def release(self, index: int, delay_s: float, draining: bool) -> None:
        work = self.works[index % len(self.works)]
        reason = "draining: stop" if draining else "server_error: 503"
        if self.state.claims.release(work.job, owner=work.owner, delay_s=delay_s, reason=reason):
            self._gave_up(work)

    @precondition(lambda self: self.works)
    @rule(index=some_index)
    def abandon(self, index: int) -> None:
        work = self.works[index % len(self.works)]
        if self.state.claims.abandon(work.job, owner=work.owner):
            self._gave_up(work)

    def _gave_up(self, work: Work) -> None:
        assert self.holder[work.job] == work.owner
        self.works.remove(work)

    @precondition(lambda self: self.works)
    @rule(index=some_index)
    def commit(self, index: int) -> None:
        self._commit(self.works[index % len(self.works)])

    def _commit(self, work: Work) -> None:
        one = finished(work.job, f"of {work.owner}")
        [won] = self.state.claims.commit([one], owner=work.owner)
        owner, _ = self.committed.setdefault(work.job, (work.owner, one.line))
        assert won == (owner == work.owner)

    @precondition(lambda self: self.works)
    @rule(index=some_index)
    def vanish(self, index: int) -> None:
        self.works.pop(index % len(self.works))

    @precondition(lambda self: self.queue)
    @rule(index=some_index)
    def kill_a_worker(self, index: int) -> None:
        work = self._claim(self.queue.pop(index % len(self.queue)))
        if work is not None:
            self.works.remove(work)
            self.adapter.advance(self.adapter.timing.lease_s + 1)

    @rule(seconds=st.sampled_from((1, 31, 61, 130)))
    def pass_time(self, seconds: int) -> None:
        self.adapter.advance(seconds)

    # --- what holds always

    @invariant()
    def results_are_written_once(self) -> None:
        stored = self.state.results.get(JOBS)
        lines = {job: result.line for job, result in stored.items()}
        assert lines == {job: line for job, (_, line) in self.committed.items()}

    @invariant()
    def ledgers_hold_what_was_committed(self) -> None:
        for run in RUNS:
            for job, line in self.state.runs.ledger(run).items():
                assert line == self.committed[job][1]

    @invariant()
    def logs_have_no_gap_and_nothing_twice(self) -> None:
        for run, model in self.models.items():
            log = [(entry.seq, entry.event) for entry in self.state.runs.log(run)]
            assert log == list(enumerate(model.log, start=1))

    # --- and in the end

    def teardown(self) -> None:
        """Heal: everybody is alive and time passes, so every wanted job must come to an end."""
        for _ in range(3):
            for run, model in self.models.items():
                self._heal(run, sorted(model.wanted))
            # Longer than any re-send, hold or lease, shorter than any TTL.
            self.adapter.advance(100_000)
        for run, model in self.models.items():
            answers = want_all(self.state, self._leader(run), sorted(model.wanted))
            for answer in answers:
                assert answer.status in (WantStatus.HIT, WantStatus.DEAD), answer
                self._check(answer.job, answer.status, answer.line, answer.reason)

    def _heal(self, run: str, jobs: list[str]) -> None:
        for answer in want_all(self.state, self._leader(run), jobs):
            if answer.status is WantStatus.SEND:
                self.queue.append(Message(answer.job, run, answer.lane))
        while self.queue:
            work = self._claim(self.queue.pop())
            if work is not None:
                self._commit(work)

    def _leader(self, run: str) -> Lead:
        lead = self.state.runs.lead(run, "healer")
        if lead is None:
            self.adapter.advance(self.adapter.timing.lead_s + 1)
            lead = self.state.runs.lead(run, "healer")
        assert lead is not None
        return lead
