"""Drives one run: fold, decide, want, send, wait. One coordinator at a time, by lease and fence.

All truth is in the log and the ledger, so a driver may die at any moment and another goes on
from there. The lease is renewed by a thread of its own; a driver that lost it stops at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from producer.answers import Progress
from producer.caps import caps_of
from producer.facts import LedgerFacts, ResultMissing
from producer.letting_go import open_jobs
from producer.minutes import active_seconds
from producer.refusals import refusal_words
from producer.requests import events_for, puts_caps_into_force, understood
from producer.stored_log import folded
from producer.stored_plan import plan_for
from producer.wants import Attachments, Sender, Wants, left_open
from skillopt.domain.events import Event, encode_event
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.run import ENDED, RunState
from skillopt.domain.steering_events import Paused
from skillopt.domain.timing import Timing
from skillopt.domain.view import RunView
from skillopt.errors import StateUnavailable
from skillopt.loop import fold
from skillopt.loop.decide import Decision, decide
from skillopt.loop.jobs import JobFactory
from skillopt.state.ports import Lead, LogEntry, State

log = logging.getLogger(__name__)

#: The longest a round waits for more results once some are there.
GATHER_S = 0.05

#: The longest that a driver waits without noticing that it should stop.
STOP_S = 0.5

#: While results pour in, people are told this often.
SHOW_S = 0.2


class Mirror(Protocol):
    """Where a run's log is mirrored; it is completed before anything new is decided."""

    def follow(self, entries: Sequence[LogEntry], state: RunState, facts: LedgerFacts) -> None: ...


class ResultKeeper(Protocol):
    """Where a run's results are kept beside Redis: once in a while, and all of them `now`."""

    def keep(self, lines: Mapping[str, LedgerLine], *, now: bool = False) -> None: ...


class Driver:
    """One run in the hands of this coordinator."""

    def __init__(
        self,
        lead: Lead,
        state: State,
        sender: Sender,
        mirror: Mirror,
        timing: Timing,
        attachments: Attachments | None = None,
        kept_results: ResultKeeper | None = None,
    ) -> None:
        self._lead = lead
        self._ports = state
        self._sender = sender
        self._mirror = mirror
        self._timing = timing
        self._attachments = attachments
        self._kept_results = kept_results
        self._shown_at = 0.0
        self._lost = threading.Event()
        #: When the last round began, or the last wait was looked at.
        self.turned_at = time.monotonic()

    def drive(self, stop: threading.Event) -> None:
        """Work on the run until it ends, pauses, `stop` is set or the lease is lost."""
        renewal = threading.Thread(target=self._keep_lead, args=[stop], daemon=True)
        renewal.start()
        try:
            self._load()
            try:
                self._go_on(stop)
            finally:
                self._give_share_back()
        finally:
            self._lost.set()
            renewal.join(timeout=self._timing.lead_renew_s)

    def _go_on(self, stop: threading.Event) -> None:
        cursor = self._ports.doorbell.wait(self._lead.run, "", timeout_s=0)
        while not stop.is_set() and not self._lost.is_set():
            if self._state.status != "running":
                return
            began = self.turned_at = time.monotonic()
            progress = self._advance()
            if progress is None:
                continue
            if progress.hits:
                # Let results gather for as long as a round takes: the larger the run, the
                # more of them each round sees.
                stop.wait(min(GATHER_S, time.monotonic() - began))
                continue
            timeout_s = min(self._timing.tick_s, progress.next_delay_s or self._timing.tick_s)
            cursor = self._wait(cursor, max(0.01, timeout_s), stop)

    def _give_share_back(self) -> None:
        try:
            self._wants.leave()
        except StateUnavailable as error:  # it lapses by itself
            log.warning("share not given back: %s", error, extra={"event": "share_kept"})

    def _wait(self, cursor: str, timeout_s: float, stop: threading.Event) -> str:
        """Wait for a ring, the timeout or `stop`; gives the new cursor."""
        left_s = timeout_s
        while left_s > 0 and not stop.is_set():
            self.turned_at = time.monotonic()
            slice_s = min(STOP_S, left_s)
            rung = self._ports.doorbell.wait(self._lead.run, cursor, timeout_s=slice_s)
            if rung != cursor:
                return rung
            left_s -= slice_s
        return cursor

    # --- loading ----------------------------------------------------------------------------

    def _load(self) -> None:
        run = self._lead.run
        plan = plan_for(self._lead, self._ports)
        entries = self._ports.runs.log(run)
        self._version = len(entries)
        self._state = folded(plan, entries)
        self._facts = LedgerFacts(
            run, self._ports.runs.ledger(run), self._ports.results, self._ports.blobs
        )
        self._factory = JobFactory(plan, run)
        backends = {role: use.backend for role, use in plan.backends.items()}
        self._wants = Wants(
            self._lead, self._ports, self._sender, self._timing, backends, self._attachments
        )
        self._wants.inherit(left_open(self._state, self._facts, self._factory))
        # Whoever changed the budget may have died before it was in force.
        self._ports.budgets.set_caps(run, caps_of(self._state.budget))
        self._active_before_s = active_seconds(entries)
        self._began = time.monotonic()
        self._keep_results(now=True)
        self._mirror.follow(entries, self._state, self._facts)

    def _keep_lead(self, stop: threading.Event) -> None:
        while not stop.is_set() and not self._lost.wait(self._timing.lead_renew_s):
            try:
                lead = self._ports.runs.lead(self._lead.run, self._lead.owner)
            except StateUnavailable as error:
                log.warning("lead not renewed: %s", error, extra={"event": "lead_unrenewed"})
                continue
            if lead is None or lead.fence != self._lead.fence:
                if lead is not None:  # another led meanwhile: our state is old
                    self._ports.runs.resign(lead)
                log.warning("lead lost", extra={"event": "lead_lost", "run": self._lead.run})
                self._lost.set()

    # --- one round --------------------------------------------------------------------------

    def _advance(self) -> Progress | None:
        """Decide once; None if the state moved, so that deciding again may find more."""
        if self._do_requests():
            return None
        try:
            decision = decide(self._state, self._facts, self._factory)
        except ResultMissing as missing:
            log.warning("%s; it is run again", missing, extra={"event": "result_missing"})
            self._ports.results.forget(self._lead, [missing.job])
            self._facts.forget(missing.job)
            return None
        if decision.events:
            self._step(decision.events)
            return None
        pause = self._over_budget()
        if pause is not None:
            self._step([pause])
            return None
        progress, gave_up = self._wants.ask_all(self._state, decision.wanted, self._facts)
        self._keep_results()
        if gave_up:
            self._step(gave_up)
            return None
        self._show(decision, progress)
        return progress

    def _do_requests(self) -> bool:
        """Do what people have asked of the run; True if that changed it."""
        pending = self._ports.requests.pending(self._lead.run)
        if not pending:
            return False
        events = events_for(self._state, understood(one.request for one in pending))
        if events:
            self._step(events)
        # Not before they are in the log: whoever comes after a crash finds them again.
        self._ports.requests.settle(self._lead.run, [one.id for one in pending])
        return bool(events)

    def _step(self, events: Sequence[Event]) -> None:
        before = state = self._state
        for event in events:
            state = fold.apply(state, event)
        # Before it is in the log: whoever comes after a crash finds the run as it was, and
        # decides the same again.
        self._let_go(state)
        self._version = self._ports.runs.step(
            self._lead,
            version=self._version,
            events=[encode_event(event) for event in events],
            status=state.status,
            open=state.status == "running",
        )
        self._state = state
        if puts_caps_into_force(before, state):
            self._ports.budgets.set_caps(self._lead.run, caps_of(state.budget))
        # First what was decided by, then the decision: a folder never has the one alone.
        self._keep_results(now=True)
        entries = self._ports.runs.log(self._lead.run, after=self._version - len(events))
        self._mirror.follow(entries, state, self._facts)
        for event in events:
            log.info("%s", event.type, extra={"event": event.type, "run": self._lead.run})

    def _let_go(self, state: RunState) -> None:
        """Stop waiting for jobs, as far as the state that the run comes to has no need of them."""
        if state.status == "running":
            return
        if not state.finished:  # a predecessor may have asked for more than we have
            self._wants.inherit(open_jobs(self._ports, self._state))
        if state.status in ENDED:
            self._wants.drop_all_but(())
        else:
            self._wants.rest()

    def _keep_results(self, *, now: bool = False) -> None:
        if self._kept_results is not None:
            self._kept_results.keep(self._facts.lines, now=now)

    def _over_budget(self) -> Paused | None:
        spend = self._ports.budgets.spend(self._lead.run)
        if spend.refused is not None:
            return Paused(why="budget", detail=refusal_words(spend.refused))
        # Prices are looked at when a run is submitted; a limit that came later may find none.
        limited_later = self._state.budget.max_usd and not self._state.plan.budget.max_usd
        if limited_later and spend.unpriced_calls:
            detail = "a call has no price, so max_usd cannot be held to; retune it to null"
            return Paused(why="budget", detail=detail)
        minutes = self._state.budget.max_minutes
        active_s = self._active_before_s + time.monotonic() - self._began
        if minutes is not None and active_s > minutes * 60:
            detail = f"the run has been active for {active_s / 60:.2g} of {minutes:g} minutes"
            return Paused(why="budget", detail=f"{detail}; raise budget.max_minutes")
        return None

    def _show(self, decision: Decision, progress: Progress) -> None:
        now = time.monotonic()
        if progress.hits and now - self._shown_at < SHOW_S:
            return
        self._shown_at = now
        view = RunView(
            stage=decision.stage,
            done=decision.done,
            total=decision.total,
            in_flight=progress.in_flight,
            cache_hits=self._facts.cache_hits,
            replies=self._facts.replies,
            quarantine=progress.quarantine,
            shares=progress.shares,
            waiting="; ".join(progress.reasons),
        )
        self._ports.runs.show_view(self._lead.run, view.model_dump_json())
