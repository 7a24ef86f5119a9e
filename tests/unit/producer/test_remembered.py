from __future__ import annotations

from producer.queue.remembered import Remembered


class Making:
    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> int:
        self.made += 1
        return self.made


def test_a_value_is_made_once():
    kept, making = Remembered[int](2), Making()
    assert [kept.get("a", making), kept.get("a", making)] == [1, 1]


def test_the_least_recently_used_is_forgotten():
    kept, making = Remembered[int](2), Making()
    for key in ("a", "b", "a", "c"):
        kept.get(key, making)
    assert kept.find("a") == 1
    assert kept.find("b") is None
    assert kept.find("c") == 3


def test_a_value_ages():
    now = 0.0
    kept, making = Remembered[int](1, for_s=10, monotonic=lambda: now), Making()
    assert kept.get("a", making) == 1
    now = 9.9
    assert kept.get("a", making) == 1
    now = 10.0
    assert kept.get("a", making) == 2
