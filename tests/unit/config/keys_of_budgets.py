"""What `budget` changes: the call, or the minute, at which a run rests."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from key_specs import SpecRow

from producer.driver import Driver
from producer.facts import LedgerFacts
from producer.submit import Submission, submit
from producer.wanted_news import want_news
from skillopt.config.load import LoadedSpec
from skillopt.domain.events import decode_event, encode_event
from skillopt.domain.notices import NOTICE_KINDS, Notify
from skillopt.domain.run import RunState
from skillopt.domain.steering_events import GaveUp, Paused
from skillopt.domain.timing import Timing
from skillopt.loop.jobs import WantedJob
from skillopt.state.memory.build import build
from skillopt.state.ports import Amount, Cap, Demand, Lane, LogEntry, Scope, State

#: What each call of a test is taken to need.
CALL = Amount(calls=1, tokens=100, micro_usd=300_000)

#: Who is told in these tests.
HOOK = "https://hooks.example/run"

#: A coordinator that nobody answers looks again at once.
TIMING = Timing(tick_s=0.01)


class _Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def refusals(loaded: LoadedSpec) -> list[Cap | None]:
    """Make call after call for the run of a spec; a refusal names what one does not fit into."""
    state = _submitted(loaded, _Clock())
    return [_call(state, loaded.plan.run_id, f"call-{n}") for n in range(4)]


def _call(state: State, run: str, name: str) -> Cap | None:
    """Make a call that takes all that was reserved for it, or name the cap that refuses it."""
    refused = state.budgets.reserve(run, name, job="job", role="target", estimate=CALL)
    if refused is not None:
        return refused.cap
    state.budgets.settle(
        run, name, input_tokens=CALL.tokens, output_tokens=0, micro_usd=CALL.micro_usd
    )
    return None


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


def owners(nobody: LoadedSpec, alice: LoadedSpec) -> None:
    _check_payers(nobody, alice, Scope("owner", "alice"))


def teams(nobody: LoadedSpec, blue: LoadedSpec) -> None:
    _check_payers(nobody, blue, Scope("team", "blue"))


def _check_payers(nobody: LoadedSpec, named: LoadedSpec, scope: Scope) -> None:
    assert nobody.plan.run_id == named.plan.run_id, "whoever pays, it is the same run"
    for loaded, answers in ((nobody, [None, None]), (named, [None, "calls"])):
        state = _submitted(loaded, _Clock())
        state.budgets.set_shared_caps(scope, {"calls": 1})
        assert [_call(state, loaded.plan.run_id, f"call-{n}") for n in range(2)] == answers


def priorities(low: LoadedSpec, normal: LoadedSpec, high: LoadedSpec) -> None:
    assert low.plan.run_id == normal.plan.run_id == high.plan.run_id
    for loaded, weight in ((low, 1), (normal, 2), (high, 4)):
        assert _weight(loaded) == weight


def _weight(loaded: LoadedSpec) -> int:
    """Give what a run counts among those of its owner while its coordinator is at work."""
    state, stop = _submitted(loaded, _Clock()), threading.Event()
    lead = state.runs.lead(loaded.plan.run_id, "c1")
    assert lead is not None
    found: list[Demand] = []

    class Looking(_FirstJob):
        def send(self, run: str, job: WantedJob, *, backend: str, lane: Lane) -> None:
            found.extend(state.shares.demands(backend))
            super().send(run, job, backend=backend, lane=lane)

    Driver(lead, state, Looking(stop), _NoMirror(), TIMING).drive(stop)
    return found[0].weight


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


def webhooks(nobody: LoadedSpec, told: LoadedSpec) -> None:
    assert _watched(nobody) is None
    assert _watched(told) == Notify(webhook=HOOK)
    assert nobody.plan.identity == told.plan.identity, "who is told changes nothing"


def news(all_of_it: LoadedSpec, ends: LoadedSpec) -> None:
    assert [_watched(one).on for one in (all_of_it, ends)] == [list(NOTICE_KINDS), ["finished"]]


def _watched(loaded: LoadedSpec) -> Notify | None:
    """Give whom a run tells what, once it is submitted."""
    state = _submitted(loaded, _Clock())
    run = loaded.plan.run_id
    want_news(state, Submission(run, "created"), loaded.notify)
    watched = state.notices.get(run)
    return None if watched is None else Notify.model_validate_json(watched.target)


ROWS = (
    SpecRow("budget.max_calls", (None, 2), calls),
    SpecRow("budget.max_tokens", (None, 300), tokens),
    SpecRow("budget.max_usd", (None, 0.5), money),
    SpecRow("budget.max_minutes", (None, 1.0), minutes),
    SpecRow("owner", (None, "alice"), owners),
    SpecRow("team", (None, "blue"), teams),
    SpecRow("notify.webhook", (None, HOOK), webhooks),
    SpecRow(
        "notify.on",
        (list(NOTICE_KINDS), ["finished"]),
        news,
        around={"notify.webhook": HOOK},
    ),
    SpecRow("priority", ("low", "normal", "high"), priorities),
)
