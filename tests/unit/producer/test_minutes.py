from __future__ import annotations

import pytest

from producer.minutes import active_seconds
from skillopt.domain.events import Event, Finished, RunCreated, encode_event
from skillopt.domain.steering_events import GaveUp, Paused, Resumed
from skillopt.state.ports import LogEntry

CREATED = RunCreated(run="r", name="n", plan="p", skill="s")
WORK = GaveUp(jobs={})
PAUSED = Paused(why="requested", detail="")
RESUMED = Resumed()
FINISHED = Finished(reason="completed", best="s")


def log(*entries: tuple[float, Event]) -> list[LogEntry]:
    return [
        LogEntry(number, at, encode_event(event))
        for number, (at, event) in enumerate(entries, start=1)
    ]


def test_an_empty_log_has_no_activity():
    assert active_seconds([]) == 0.0


def test_a_run_is_active_from_its_creation_to_its_last_event():
    assert active_seconds(log((100, CREATED))) == 0.0
    assert active_seconds(log((100, CREATED), (107, WORK))) == 7.0
    assert active_seconds(log((100, CREATED), (107, WORK), (110, FINISHED))) == 10.0


def test_the_time_of_a_pause_is_not_counted():
    entries = log((0, CREATED), (10, PAUSED), (1000, RESUMED), (1005, WORK), (1006, FINISHED))
    assert active_seconds(entries) == 16.0


def test_a_pause_counts_up_to_itself_even_if_nothing_follows():
    assert active_seconds(log((0, CREATED), (10, PAUSED))) == 10.0


def test_several_pauses_add_up():
    entries = log((0, CREATED), (5, PAUSED), (50, RESUMED), (52, PAUSED), (60, RESUMED), (63, WORK))
    assert active_seconds(entries) == 10.0


def test_the_time_without_a_coordinator_ends_with_the_resumption_and_is_not_counted():
    """Ctrl-C writes no pause: the same command on the next day must not cost a day."""
    entries = log((0, CREATED), (30, WORK), (86_400, RESUMED), (86_410, WORK))
    assert active_seconds(entries) == 40.0


@pytest.mark.parametrize("event", [WORK, PAUSED, FINISHED])
def test_times_that_do_not_move_count_nothing(event):
    assert active_seconds(log((5, CREATED), (5, event))) == 0.0
