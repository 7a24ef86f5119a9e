from __future__ import annotations

from collections.abc import Mapping

from skillopt.domain.backend import Backend, LimitName, Limits
from skillopt.errors import StateUnavailable
from workers.live_limits import LiveLimits

BACKEND = Backend(
    name="gpt",
    kind="openai_chat",
    model="m",
    limits=Limits(rpm=100, concurrency=8, min_concurrency=2),
)


class Shared:
    """Limits that a person sets; counts how often they are asked for."""

    def __init__(self) -> None:
        self.limits: dict[LimitName, int] = {}
        self.asked = 0
        self.away = False

    def of(self, backend: str) -> dict[LimitName, int]:
        self.asked += 1
        if self.away:
            raise StateUnavailable
        return dict(self.limits) if backend == "gpt" else {}

    def set(self, backend: str, changes: Mapping[LimitName, int | None]) -> None:
        raise AssertionError("a worker only looks")

    def all(self) -> dict[str, dict[LimitName, int]]:
        raise AssertionError("a worker looks at its own backend only")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def live(shared: Shared, clock: Clock) -> LiveLimits:
    return LiveLimits(shared, BACKEND, every_s=2.0, monotonic=clock)


def test_without_a_change_the_catalogue_holds():
    assert live(Shared(), Clock())() == BACKEND.limits


def test_a_change_is_followed_at_the_next_look():
    shared, clock = Shared(), Clock()
    limits = live(shared, clock)
    limits()
    shared.limits = {"rpm": 7, "tpm": 900}
    clock.now += 1.9
    assert limits().rpm == 100
    clock.now += 0.2
    assert limits() == Limits(rpm=7, tpm=900, concurrency=8, min_concurrency=2)
    shared.limits = {}
    clock.now += 2.1
    assert limits() == BACKEND.limits


def test_many_calls_look_once():
    shared = Shared()
    limits = live(shared, Clock())
    for _ in range(50):
        limits()
    assert shared.asked == 1


def test_the_least_gives_way_to_a_lower_most():
    shared = Shared()
    shared.limits = {"concurrency": 1}
    limits = live(shared, Clock())()
    assert (limits.concurrency, limits.min_concurrency) == (1, 1)


def test_while_the_state_is_away_the_limits_stay():
    shared, clock = Shared(), Clock()
    shared.limits = {"rpm": 7}
    limits = live(shared, clock)
    assert limits().rpm == 7
    shared.away = True
    clock.now += 10
    assert limits().rpm == 7


def test_what_makes_no_sense_is_not_followed():
    shared, clock = Shared(), Clock()
    limits = live(shared, clock)
    shared.limits = {"rpm": 0}
    assert limits().rpm == 100
