"""A child that lives but does nothing is noticed, killed and started again."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path

import pytest
from embedded_processes import PYTHON, eventually, is_running

from producer.embedded.child import ChildSpec, Death, RestartRule
from producer.embedded.silence import HealthSilence, ServerSilence, SilenceRule
from producer.embedded.supervisor import Supervisor
from skillopt.errors import EmbeddedError
from skillopt.health import STOOD_STILL, Condition, HealthFile

RULE = SilenceRule(starting_s=5.0, between_s=3.0)

#: Replaces its health file again and again.
WELL = """
import os, sys, time
path = sys.argv[1]
print("up", os.getpid(), flush=True)
while True:
    with open(path + ".new", "w") as out:
        out.write("{}")
    os.replace(path + ".new", path)
    time.sleep(0.02)
"""


def write(path: Path, *stuck: str) -> None:
    HealthFile(path, "worker", 20.0).write(Condition(stuck))


def test_a_child_may_take_its_time_to_start_but_not_for_ever(tmp_path: Path) -> None:
    silence = HealthSilence(tmp_path / "health", RULE)
    silence.forget()
    assert [silence.look(1.0) for _ in range(5)] == [None] * 5
    assert silence.look(1.0) == "it gave no sign of life for 5 s"


def test_silence_counts_from_the_last_report(tmp_path: Path) -> None:
    path = tmp_path / "health"
    silence = HealthSilence(path, RULE)
    silence.forget()
    for _ in range(3):
        write(path)
        assert [silence.look(1.0) for _ in range(4)] == [None] * 4
    assert silence.look(1.0) == "it gave no sign of life for 3 s"


def test_a_supervisor_that_was_stopped_itself_accuses_nobody(tmp_path: Path) -> None:
    path = tmp_path / "health"
    silence = HealthSilence(path, RULE)
    write(path)
    silence.look(1.0)
    assert silence.look(3600.0) is None


def test_what_an_earlier_process_said_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "health"
    write(path)
    HealthSilence(path, RULE).forget()
    assert not path.exists()


def test_a_child_that_says_it_is_stuck_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "health"
    silence = HealthSilence(path, RULE)
    write(path, "run 'r1' has not moved for 301 s")
    assert silence.look(1.0) == "run 'r1' has not moved for 301 s"


def test_a_child_was_ready_once_it_has_said_so(tmp_path: Path) -> None:
    path = tmp_path / "health"
    silence = HealthSilence(path, RULE)
    told = HealthFile(path, "worker", 20.0)
    seen = []
    for not_ready in (("it is starting",), (), ("the state does not answer",)):
        told.write(Condition(not_ready=not_ready))
        silence.look(1.0)
        seen.append(silence.was_ready)
    assert seen == [False, True, True]
    silence.forget()
    assert not silence.was_ready, "what an earlier process was does not count"


@pytest.fixture
def asked():
    """A server on a socket that answers for as long as it is let."""
    path = Path(f"/tmp/so-{os.getpid()}.sock")  # pytest's folders are too long
    path.unlink(missing_ok=True)
    answering = threading.Event()
    answering.set()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(16)

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    if answering.is_set():
                        connection.recv(64)
                        connection.sendall(b"-LOADING soon\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path, answering
        server.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=20)
    path.unlink()


def test_a_server_that_is_loading_its_data_lives(asked) -> None:
    path, answering = asked
    silence = ServerSilence(path, RULE)
    assert [silence.look(1.0) for _ in range(20)] == [None] * 20
    assert not silence.silent
    assert not silence.was_ready, "it does not serve yet"
    answering.clear()
    assert [silence.look(1.0) for _ in range(4)] == [None] * 4
    assert silence.look(1.0) == "it gave no sign of life for 3 s"


def test_one_question_that_went_astray_accuses_no_server(asked) -> None:
    path, answering = asked
    silence = ServerSilence(path, RULE)
    silence.look(1.0)
    answering.clear()
    assert silence.look(60.0) is None
    assert silence.look(60.0) is None
    assert silence.silent
    answering.set()
    assert silence.look(60.0) is None
    assert not silence.silent


def test_a_stopped_child_is_killed_and_started_again_in_words(tmp_path: Path) -> None:
    path = tmp_path / "health"
    log = tmp_path / "log"
    spec = ChildSpec("worker", (*PYTHON, "-c", WELL, str(path)), {}, log, health_path=path)
    deaths: list[Death] = []

    def pids() -> list[int]:
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        return [int(line.split()[1]) for line in lines if line.endswith("\n")]

    def polled(count: int) -> bool:
        deaths.extend(supervisor.poll())
        return len(pids()) == count and path.exists()

    rule = SilenceRule(starting_s=30.0, between_s=0.5)
    with Supervisor(restart=RestartRule(first_delay_s=0.01), silence=rule) as supervisor:
        supervisor.start(spec)
        eventually(lambda: polled(1), "the first start")
        os.kill(pids()[0], signal.SIGSTOP)
        eventually(lambda: polled(2), "the second start")
        assert not is_running(pids()[0])
        assert is_running(pids()[1])
    assert [death.in_words() for death in deaths] == [
        "worker ended: it gave no sign of life for 0.5 s, so it was killed"
    ]


def test_a_child_that_hangs_every_time_is_a_crash_loop_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "health"
    program = (*PYTHON, "-c", "import time; time.sleep(100)")
    spec = ChildSpec("worker", program, {}, tmp_path / "log", health_path=path)
    rule = SilenceRule(starting_s=0.0, between_s=0.0)
    fast = RestartRule(first_delay_s=0.0, max_delay_s=0.0)
    with Supervisor(restart=fast, silence=rule) as supervisor:
        supervisor.start(spec)
        with pytest.raises(EmbeddedError, match="no sign of life for 0 s, so it was killed"):
            eventually(lambda: bool(supervisor.poll()) and False, "a crash loop")


def test_a_child_that_hangs_before_it_is_ready_is_a_crash_loop_however_slow(
    tmp_path: Path,
) -> None:
    path = tmp_path / "health"
    program = (*PYTHON, "-c", "import time; print('no model here', flush=True); time.sleep(100)")
    spec = ChildSpec("worker", program, {}, tmp_path / "log", health_path=path)
    rare = RestartRule(first_delay_s=0.0, max_delay_s=0.0, max_deaths=2, window_s=0.0)
    with Supervisor(restart=rare, silence=SilenceRule(starting_s=0.2)) as supervisor:
        supervisor.start(spec)
        with pytest.raises(EmbeddedError, match="3 times in a row and was never ready") as caught:
            eventually(lambda: bool(supervisor.poll()) and False, "a crash loop")
    assert "no model here" in str(caught.value), "its log is quoted"


def test_a_worker_that_left_because_it_stood_still_is_told_of_in_words() -> None:
    assert Death("worker-sim-1", STOOD_STILL).in_words() == (
        "worker-sim-1 ended: it made no progress while work waited (exit code 70)"
    )
    assert Death("worker-sim-1", 0).in_words() == "worker-sim-1 ended: exit code 0"
