"""What `budget` changes: the call, or the minute, at which a run rests."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from key_specs import SpecRow

from producer.driver import Driver
from producer.facts import LedgerFacts
from producer.submit import submit
from skillopt.config.load import LoadedSpec
from skillopt.domain.events import GaveUp, Paused, decode_event, encode_event
from skillopt.domain.run import RunState
from skillopt.domain.timing import Timing
from skillopt.loop.jobs import WantedJob
from skillopt.state.memory.build import build
from skillopt.state.ports import Amount, Lane, LogEntry, State

#: What each call of a test is taken to need.
CALL = Amount(calls=1, tokens=100, micro_usd=300_000)


#: A coordinator that nobody answers looks again at once.
TIMING = Timing(tick_s=0.01)


class _Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def refusals(loaded: LoadedSpec) -> list[str | None]:
    """Reserve call after call for the run of a spec; a refusal names what it does not fit into."""
    state = _submitted(loaded, _Clock())
    run = loaded.plan.run_id
    return [
        state.budgets.reserve(run, f"call-{n}", job=f"job-{n}", role="target", estimate=CALL)
        for n in range(4)
    ]


def calls(unlimited: LoadedSpec, two: LoadedSpec) -> None:
    assert refusals(unlimited) == [None] * 4
    assert refusals(two) == [None, None, "calls", "calls"]


def tokens(unlimited: LoadedSpec, three_hundred: LoadedSpec) -> None:
    assert refusals(unlimited) == [None] * 4
    assert refusals(three_hundred) == [None] * 3 + ["tokens"]


def money(unlimited: LoadedSpec, half_a_dollar: LoadedSpec) -> None:
    assert refusals(unlimited) == [None] * 4
    assert refusals(half_a_dollar) == [None] + ["usd"] * 3


def minutes(unlimited: LoadedSpec, one: LoadedSpec) -> None:
    assert isinstance(_after_two_minutes(unlimited), WantedJob), "the run goes on"
    paused = _after_two_minutes(one)
    assert isinstance(paused, Paused)
    assert paused.why == "budget"
    assert "active for 2 of 1 minutes; raise budget.max_minutes" in paused.detail


class _FirstJob:
    """A sender that keeps the first job and stops its coordinator."""

    def __init__(self, stop: threading.Event) -> None:
        self.job: WantedJob | None = None
        self._stop = stop

    def send(self, run: str, job: WantedJob, *, backend: str, lane: Lane) -> None:
        self.job = self.job or job
        self._stop.set()


class _NoMirror:
    def follow(self, entries: Sequence[LogEntry], state: RunState, facts: LedgerFacts) -> None:
        pass


def _after_two_minutes(loaded: LoadedSpec) -> WantedJob | Paused:
    """Give what a coordinator does that takes over a run which was active for two minutes."""
    clock, run = _Clock(), loaded.plan.run_id
    state = _submitted(loaded, clock)
    clock.now += 120
    lead = state.runs.lead(run, "c1")
    assert lead is not None
    worked = encode_event(GaveUp(jobs={}))
    state.runs.step(lead, version=1, events=[worked], status="running", open=True)
    stop = threading.Event()
    sender = _FirstJob(stop)
    Driver(lead, state, sender, _NoMirror(), TIMING).drive(stop)
    last = decode_event(state.runs.log(run)[-1].event)
    if isinstance(last, Paused):
        return last
    assert sender.job is not None
    return sender.job


def _submitted(loaded: LoadedSpec, clock: _Clock) -> State:
    state = build(TIMING, clock)
    submit(state, loaded.plan, meta={}, wait=lambda seconds: None)
    return state


ROWS = (
    SpecRow("budget.max_calls", (None, 2), calls),
    SpecRow("budget.max_tokens", (None, 300), tokens),
    SpecRow("budget.max_usd", (None, 0.5), money),
    SpecRow("budget.max_minutes", (None, 1.0), minutes),
)
