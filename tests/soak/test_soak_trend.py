"""The verdict of a soak: noise is flat, a leak is named."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# The package is run as `python -m soak`, with the folder of all tests on the path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from soak.__main__ import show
from soak.gauges import of_process, tolerance
from soak.trend import Tolerance, series_of, trend, verdict

MEMORY = Tolerance(share=0.03, at_least=1.5)


def samples(value: Callable[[float], float], count: int = 200) -> list[tuple[float, float]]:
    return [(2.0 * number, value(2.0 * number)) for number in range(count)]


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("constant", lambda at: 100.0),
        ("warm-up, then flat", lambda at: 50.0 + min(at, 190.0) / 4),
        ("shrinking", lambda at: 200.0 - at / 10),
        ("sawtooth", lambda at: 100.0 + at % 60 / 3),
        ("one late spike", lambda at: 900.0 if at > 390 else 100.0),
    ],
)
def test_what_does_not_grow_is_flat(what: str, value: Callable[[float], float]) -> None:
    found = trend(what, samples(value), MEMORY)
    assert not found.grows, found
    assert verdict([found]) == "flat"


def test_noise_alone_is_flat_and_a_leak_shows_through_it() -> None:
    generator = random.Random(1)
    noisy = [(at, value + generator.gauss(0, 3)) for at, value in samples(lambda at: 100.0)]
    assert not trend("noise", noisy, MEMORY).grows
    leaking = [(at, value + at / 20) for at, value in noisy]
    found = trend("worker MB", leaking, MEMORY)
    assert found.grows
    assert found.gain == pytest.approx(10.0, rel=0.3)


def test_a_leak_that_begins_late_is_found() -> None:
    assert trend("late", samples(lambda at: 100.0 + max(0.0, at - 200) / 10), MEMORY).grows


def test_the_verdict_names_everything_that_grows_and_nothing_else() -> None:
    growing = trend("keys so:job", samples(lambda at: at), tolerance("keys so:job"))
    flat = trend("keys so:res", samples(lambda at: 500.0), tolerance("keys so:res"))
    words = verdict([growing, flat])
    assert words.startswith("grows: keys so:job (by ")
    assert "so:res" not in words


def test_memory_is_judged_but_that_of_the_stand_in_for_the_provider() -> None:
    leak = samples(lambda at: 50.0 + at / 10)
    judged = {
        name: trend(name, leak, tolerance(name)).grows
        for name in ("worker-sim-1 MB", "coordinator MB", "redis used MB", "redis MB")
    }
    assert all(judged.values()), judged
    assert not trend("simulator-sim MB", leak, tolerance("simulator-sim MB")).grows


def test_the_table_marks_what_grows(capsys: pytest.CaptureFixture[str]) -> None:
    show([trend("threads", samples(lambda at: at), tolerance("x threads"))])
    assert "GROWS" in capsys.readouterr().out


def test_a_value_that_is_missing_from_a_sample_counts_as_none_of_it() -> None:
    assert series_of([(0.0, {"a": 1.0}), (1.0, {"b": 2.0})]) == {
        "a": [(0.0, 1.0), (1.0, 0.0)],
        "b": [(0.0, 0.0), (1.0, 2.0)],
    }


def test_too_few_samples_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'short' has 3 samples"):
        trend("short", samples(lambda at: 1.0, count=3), MEMORY)


def test_a_process_is_measured_in_megabytes_threads_and_files() -> None:
    import os

    found = of_process("this", os.getpid())
    assert found["this MB"] > 5
    assert found["this threads"] >= 1
    assert found["this files"] >= 1
