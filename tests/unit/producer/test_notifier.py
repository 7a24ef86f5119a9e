"""When webhooks are told what: at least once, each news under one id, never in a run's way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fleet_double import TIMING, Trouble, VirtualClock
from queue_bench import TeamBench

from producer.notifier import Notifier
from producer.submit import Submission
from producer.wanted_news import want_news
from producer.webhook import News, NotDelivered
from skillopt.domain.notices import NOTICE_KINDS, NoticeKind, Notify
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Budget
from skillopt.errors import StateUnavailable
from skillopt.state.memory.build import build
from skillopt.state.ports import Amount

URL = "https://hooks.example/run"


@dataclass
class Receiver:
    """Takes news, or does not."""

    got: list[News] = field(default_factory=list)
    away: bool = False
    asked: int = 0

    def post(self, url: str, news: News, *, now: Callable[[], float]) -> None:
        assert url == URL
        self.asked += 1
        if self.away:
            raise NotDelivered("hooks.example answered 500")
        self.got.append(news)

    @property
    def kinds(self) -> list[str]:
        return [news.kind for news in self.got]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Desk:
    bench: TeamBench
    clock: VirtualClock
    receiver: Receiver = field(default_factory=Receiver)
    own_clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.notifier = self.another()

    def another(self) -> Notifier:
        return Notifier(self.bench.state, self.bench.store, self.receiver, monotonic=self.own_clock)

    def submit(self, *on: NoticeKind, **changes) -> RunPlan:
        plan = self.bench.submit(**changes)
        notify = Notify(webhook=URL, on=list(on or NOTICE_KINDS))
        want_news(self.bench.state, Submission(plan.run_id, "created"), notify)
        return plan


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    clock = VirtualClock()
    return Desk(TeamBench(build(TIMING, clock), tmp_path), clock)


def test_a_finished_run_is_told_once_and_then_left_alone(desk: Desk):
    plan = desk.submit(owner="ann", labels={"ticket": "7"})
    desk.notifier.look()
    assert desk.receiver.got == []
    desk.bench.drive(plan)
    desk.notifier.look()
    desk.notifier.look()
    [news] = desk.receiver.got
    assert (news.kind, news.phase, news.owner, news.labels) == (
        "finished",
        "finished",
        "ann",
        {"ticket": "7"},
    )
    assert (news.initial_score, news.best_score, news.spent.calls) == (0.0, 0.75, 55)
    assert news.words.startswith("finished: every step is done")
    assert desk.bench.state.notices.runs() == []


def test_a_pause_and_the_end_after_it_are_told_each(desk: Desk):
    plan = desk.submit()
    desk.bench.queue.pause(plan.run_id)
    desk.notifier.look()
    desk.bench.queue.resume(plan.run_id)
    desk.notifier.look()
    desk.bench.drive(plan)
    desk.notifier.look()
    assert desk.receiver.kinds == ["paused", "finished"]
    assert len({news.id for news in desk.receiver.got}) == 2


def test_a_cancelled_run_is_told_as_ended(desk: Desk):
    plan = desk.submit()
    desk.bench.queue.cancel(plan.run_id)
    desk.notifier.look()
    [news] = desk.receiver.got
    assert (news.kind, news.phase) == ("finished", "cancelled")


def test_jobs_given_up_are_told(desk: Desk):
    plan = desk.submit("dead")
    desk.bench.fleet.mishap = Trouble("bad_request: too long", 99, "step 1 / rollout")
    _drive_as_it_comes(desk.bench, plan)
    desk.notifier.look()
    assert desk.receiver.kinds
    assert set(desk.receiver.kinds) == {"dead"}
    assert "too long" in desk.receiver.got[0].words


def test_only_what_the_spec_asks_for_is_told(desk: Desk):
    plan = desk.submit("paused")
    desk.bench.drive(plan)
    desk.notifier.look()
    assert desk.receiver.got == []
    assert desk.bench.state.notices.runs() == [], "it has ended: nothing more can come"


def test_four_fifths_of_a_limit_are_told_once_and_again_for_a_higher_one(desk: Desk):
    plan = desk.submit("budget", budget=Budget(max_calls=10, max_usd=5.0))
    _pay(desk, plan, calls=7, usd=0.5)
    desk.notifier.look()
    assert desk.receiver.got == []
    _pay(desk, plan, calls=1, usd=0.5)
    desk.notifier.look()
    desk.notifier.look()
    [news] = desk.receiver.got
    assert (news.kind, news.words) == ("budget", "80% of budget.max_calls 10 is used")
    _pay(desk, plan, calls=1, usd=3.5)
    desk.notifier.look()
    assert desk.receiver.got[-1].words == "90% of budget.max_usd 5 is used"
    assert len({one.id for one in desk.receiver.got}) == 2


def test_minutes_count_as_long_as_the_run_is_active(desk: Desk):
    desk.submit("budget", budget=Budget(max_minutes=10))
    desk.clock.now += 7 * 60
    desk.notifier.look()
    assert desk.receiver.got == []
    desk.clock.now += 2 * 60
    desk.notifier.look()
    assert [news.words for news in desk.receiver.got] == ["90% of budget.max_minutes 10 is used"]


def test_what_was_not_taken_is_told_again_ever_more_rarely(desk: Desk):
    plan = desk.submit()
    desk.bench.drive(plan)
    desk.receiver.away = True
    asked = []
    for _ in range(60):
        desk.notifier.look()
        asked.append(desk.receiver.asked)
        desk.own_clock.now += 1
    assert asked[0] == 1
    assert asked[-1] == 4, "after 5, 10 and 20 seconds"
    desk.receiver.away = False
    desk.own_clock.now += 600
    desk.notifier.look()
    assert desk.receiver.kinds == ["finished"]


def test_news_that_nobody_takes_for_a_day_are_let_go(desk: Desk):
    plan = desk.submit()
    desk.bench.drive(plan)
    desk.receiver.away = True
    desk.notifier.look()
    assert desk.bench.state.notices.runs() == [plan.run_id]
    desk.clock.now += 86_401
    desk.own_clock.now += 86_401
    desk.notifier.look()
    assert desk.bench.state.notices.runs() == []


def test_another_coordinator_tells_what_a_killed_one_had_not_marked(desk: Desk):
    plan = desk.submit()
    desk.bench.drive(plan)
    notices = desk.bench.state.notices
    advance = notices.advance

    def killed(run: str, cursor: int) -> None:
        if desk.receiver.got:
            raise StateUnavailable("killed before it was marked")
        advance(run, cursor)

    notices.advance = killed  # type: ignore[method-assign]
    desk.notifier.look()
    notices.advance = advance  # type: ignore[method-assign]
    other = desk.another()
    other.look()
    assert len(desk.receiver.got) == 1, "the first still has the telling"
    desk.clock.now += TIMING.lead_s + 1
    other.look()
    first, second = desk.receiver.got
    assert first.id == second.id, "whoever gets it twice can tell"


def test_a_run_that_cannot_be_read_keeps_no_other_from_being_told(desk: Desk):
    state = desk.bench.state
    state.runs.create("aaa", meta={}, events=["{}"], status="finished")
    state.notices.watch("aaa", Notify(webhook=URL).model_dump_json())
    state.notices.watch("gone", Notify(webhook=URL).model_dump_json())
    state.notices.watch("odd", "not JSON")
    state.runs.create("odd", meta={}, events=["{}"], status="running")
    plan = desk.submit()
    desk.bench.drive(plan)
    desk.notifier.look()
    assert desk.receiver.kinds == ["finished"]
    assert state.notices.runs() == ["aaa"]


def test_it_serves_one_run_only_where_asked_and_looks_once_more_at_the_end(desk: Desk):
    mine, others = desk.submit(name="mine"), desk.submit(name="others")
    for plan in (mine, others):
        desk.bench.drive(plan)
    stop = threading.Event()
    stop.set()
    desk.notifier.serve(stop, mine.run_id)
    assert [news.name for news in desk.receiver.got] == ["mine"]


def test_a_run_that_goes_on_again_does_not_repeat_old_news(desk: Desk):
    plan = desk.submit()
    desk.bench.queue.cancel(plan.run_id)
    desk.notifier.look()
    assert desk.receiver.kinds == ["finished"]
    desk.bench.submit(plan)
    want_news(desk.bench.state, Submission(plan.run_id, "resumed"), Notify(webhook=URL))
    desk.notifier.look()
    assert desk.receiver.kinds == ["finished"]
    desk.bench.drive(plan)
    desk.notifier.look()
    assert desk.receiver.kinds == ["finished", "finished"]


def _drive_as_it_comes(bench: TeamBench, plan: RunPlan) -> None:
    from fleet_double import Mirror

    from producer.driver import Driver

    lead = bench.state.runs.lead(plan.run_id, "c")
    assert lead is not None
    Driver(lead, bench.state, bench.fleet, Mirror(), replace(TIMING, tick_s=0.01)).drive(
        threading.Event()
    )


def _pay(desk: Desk, plan: RunPlan, *, calls: int, usd: float) -> None:
    budgets = desk.bench.state.budgets
    for number in range(calls):
        name = f"{desk.receiver.asked}-{sum(budgets.spend(plan.run_id).calls.values())}-{number}"
        estimate = Amount(calls=1, tokens=1, micro_usd=1)
        assert budgets.reserve(plan.run_id, name, job="j", role="target", estimate=estimate) is None
        share = round(usd * 1_000_000 / calls)
        budgets.settle(plan.run_id, name, input_tokens=1, output_tokens=1, micro_usd=share)
