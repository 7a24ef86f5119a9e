"""A worker that stands still while work waits leaves; one that waits for a reason does not."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from worker_parts import Workshop, until

from skillopt.errors import StateUnavailable
from skillopt.health import STOOD_STILL, HealthFile, HealthReport
from workers.held import Held
from workers.http_loop import HttpLoop
from workers.moving_parts import CallLoop, HeldJobs, OwnQueue, ProbeThread, Turning
from workers.queue_probe import QueueProbe
from workers.watchdog import Watchdog


class Standing:
    """A part that stands still until told otherwise."""

    moves = False

    def stands(self) -> str | None:
        return None if self.moves else "it has not moved"


class Yard:
    """A watchdog whose leaving is noted."""

    def __init__(self, *parts: object, limit_s: float = 10.0) -> None:
        self.left: list[int] = []
        self.state_answers = True
        self.dog = Watchdog(
            parts,
            lambda: self.state_answers,
            limit_s=limit_s,
            period_s=1.0,
            leave=self.left.append,
        )

    def look(self, times: int = 1, passed_s: float = 1.0) -> None:
        for _ in range(times):
            self.dog.look(passed_s)


def test_a_part_that_stands_for_the_whole_limit_ends_the_process_in_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    yard = Yard(Standing())
    yard.look(9)
    assert yard.left == []
    with caplog.at_level(logging.ERROR):
        yard.look()
    assert yard.left == [STOOD_STILL]
    assert "no progress although the state answers: it has not moved for 10 s" in caplog.text


def test_a_part_that_moves_now_and_then_is_left_alone() -> None:
    part = Standing()
    yard = Yard(part)
    for _ in range(5):
        part.moves = False
        yard.look(9)
        part.moves = True
        yard.look()
    assert yard.left == []


def test_nothing_counts_while_the_state_is_away() -> None:
    yard = Yard(Standing())
    yard.look(9)
    yard.state_answers = False
    yard.look(1000)
    yard.state_answers = True
    yard.look(9)
    assert yard.left == []
    yard.look()
    assert yard.left == [STOOD_STILL]


def test_time_in_which_the_process_itself_was_stopped_does_not_count() -> None:
    yard = Yard(Standing())
    yard.look(1, passed_s=3600.0)
    assert yard.left == []


def test_a_watchdog_that_was_turned_off_still_tells_of_health(
    tmp_path: Path,
) -> None:
    left: list[int] = []
    dog = Watchdog([Standing()], lambda: True, limit_s=0.0, period_s=0.005, leave=left.append)
    dog.turn_off()
    path = tmp_path / "health"
    dog.start(HealthFile(path, "worker w1", 20.0), lambda: ("it is draining",))
    until(lambda: "draining" in path.read_text(), "a report")
    dog.end()
    assert HealthReport.model_validate_json(path.read_bytes()).not_ready == ("it is draining",)
    assert left == []


def test_a_loop_moves_as_long_as_it_counts() -> None:
    turns = [0]
    part = Turning("stands", lambda: turns[0])
    assert part.stands() is None
    assert part.stands() == "stands"
    turns[0] += 1
    assert part.stands() is None


def test_the_loop_of_the_calls_is_watched_by_its_turns_and_its_thread() -> None:
    http = HttpLoop()
    part = CallLoop(http)
    release = threading.Event()
    try:
        assert part.stands() is None
        until(lambda: http.turns > 0, "a turn")
        assert part.stands() is None
        http._loop.call_soon_threadsafe(release.wait)
        until(lambda: part.stands() is not None, "the standstill")
        assert part.stands() == "the event loop of the model calls has not turned"
        release.set()
        until(lambda: part.stands() is None, "a turn")
    finally:
        release.set()
        http.close()
    assert part.stands() == "the thread of the model calls is dead"


def test_a_job_is_late_only_after_its_deadline(shop: Workshop) -> None:
    held = Held("j" * 64, "owner", "run")
    part = HeldJobs(SimpleNamespace(held=lambda: [held]))
    assert part.stands() is None, "judging takes its time"
    with held.busy_for(600.0):
        assert part.stands() is None, "so does a call"
    with held.busy_for(-1.0):
        assert part.stands() == f"jobs past every deadline hold their slots ({'j' * 16})"
    assert part.stands() is None, "the call ended after all"


def test_messages_that_wait_count_only_while_there_is_room() -> None:
    consuming = SimpleNamespace(taken=0, has_room=True)
    probe = SimpleNamespace(waiting=3)
    part = OwnQueue(consuming, probe)
    assert part.stands() is None, "the first look compares with nothing"
    assert part.stands() == "3 messages wait and none was taken"
    consuming.has_room = False
    assert part.stands() is None, "every slot has its job"
    consuming.has_room = True
    probe.waiting = 0
    assert part.stands() is None, "nothing to do"
    probe.waiting = 3
    consuming.taken += 1
    assert part.stands() is None, "one was taken"


def test_the_probe_knows_when_the_server_went_silent() -> None:
    answers = [5, StateUnavailable("away")]

    def ask() -> int:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, StateUnavailable):
            raise answer
        return answer

    probe = QueueProbe(ask, 0.01)
    assert not probe.answers()
    probe.start()
    until(lambda: probe.waiting == 5, "an answer")
    until(lambda: not probe.answers(), "the silence")
    assert ProbeThread(probe).stands() is None
    probe.end()
    until(lambda: not probe.alive, "its end")
    assert ProbeThread(probe).stands() == "the thread that looks at the queue is dead"
