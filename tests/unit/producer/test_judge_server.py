"""A function served to workers: every reply gets its own score, and a failure gives none."""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from producer import judge_server
from producer.judge_function import JudgeFunction, NamedFunction, Score
from producer.judge_server import serve
from skillopt.domain.item import FunctionJudge
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.errors import EmbeddedError, JudgeFailed, JudgeUnavailable
from skillopt.judges import function as function_judge
from skillopt.judges import judge as judge_reply
from skillopt.judges.function import SOCKET_VARIABLE


@contextmanager
def served(function: JudgeFunction, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with serve(NamedFunction(function, "scoring:judge", "1")) as path:
        monkeypatch.setenv(SOCKET_VARIABLE, str(path))
        yield path


def ask(reply: str, task: dict[str, Any] | None = None, revision: str = "1") -> Any:
    given = FunctionJudge(function="scoring:judge", revision=revision, task=task or {})
    return judge_reply(given, ReplyBody(text=reply))


def send(path: Path, line: bytes) -> bytes:
    """Send a line as no worker would; gives what comes back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(path))
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as stream:
            return stream.readline()


def test_the_function_gets_the_record_and_the_reply(monkeypatch):
    seen = []

    def judge(task, reply):
        seen.append((task, reply))
        return Score(0, 0.25, "nearly")

    record = {"id": "t", "gold": [1, {"ä": None}]}
    with served(judge, monkeypatch):
        assert ask("höflich\n“ja”", record) == JudgementBody(hard=0, soft=0.25, feedback="nearly")
    assert seen == [(record, "höflich\n“ja”")]


def test_sixteen_workers_at_once_get_each_their_own_score(monkeypatch):
    together = threading.Barrier(16)

    def judge(task, reply):
        together.wait(timeout=20)
        return int(reply) / 1000

    with served(judge, monkeypatch), ThreadPoolExecutor(16) as workers:
        found = list(workers.map(lambda n: ask(str(n)).soft, range(160)))
    assert found == [n / 1000 for n in range(160)]


def test_more_questions_at_once_than_threads_that_answer_are_not_refused(monkeypatch):
    go = threading.Event()

    def judge(task, reply):
        go.wait(20)
        return True

    with served(judge, monkeypatch), ThreadPoolExecutor(200) as workers:
        asked = [workers.submit(ask, "x") for _ in range(200)]
        go.set()
        assert all(one.result().hard == 1 for one in asked)


def test_a_reply_of_megabytes_is_judged(monkeypatch):
    with served(lambda task, reply: len(reply) == 9_000_000, monkeypatch):
        assert ask("ä" * 9_000_000).hard == 1


def test_a_reply_beyond_every_limit_makes_the_task_invalid_not_a_zero(monkeypatch):
    monkeypatch.setattr(function_judge, "MAX_LINE_BYTES", 1_000)
    with served(lambda task, reply: True, monkeypatch):
        body = ask("x" * 1_000)
    assert isinstance(body, InvalidBody)
    assert "too long" in body.reason


@pytest.mark.parametrize("reply", ["", "  \n"])
def test_an_empty_answer_fails_without_asking(monkeypatch, reply):
    with served(lambda task, reply: len(reply) < 10, monkeypatch):
        assert ask(reply).hard == 0


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


def raising(error: BaseException) -> JudgeFunction:
    def judge(task, reply):
        raise error

    return judge


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (raising(KeyError("gold")), "KeyError: 'gold'"),
        (raising(ValueError("two\nlines")), "ValueError: two lines"),
        (raising(SystemExit(3)), "SystemExit: 3"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raising(Speechless()), "Speechless"),
        (lambda task, reply: None, "not None"),
        (lambda task, reply: 7, "not at 7"),
    ],
)
def test_a_function_that_fails_gives_no_score_and_is_named(monkeypatch, function, named):
    with (
        served(function, monkeypatch),
        pytest.raises(JudgeFailed, match="'scoring:judge'") as caught,
    ):
        ask("x")
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_long_complaint_is_cut(monkeypatch):
    with (
        served(raising(ValueError("x" * 100_000)), monkeypatch),
        pytest.raises(JudgeUnavailable) as caught,
    ):
        ask("x")
    assert len(str(caught.value)) < 1_000


def test_another_revision_is_not_judged_by_this_one(monkeypatch):
    with (
        served(lambda task, reply: True, monkeypatch),
        pytest.raises(JudgeUnavailable, match="anot") as caught,
    ):
        ask("x", revision="2")
    assert not isinstance(caught.value, JudgeFailed), "the right one may be served soon"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"\xff\xfe\n",
        b"null\n",
        b"[1, 2]\n",
        b'{"function": "scoring:judge"}\n',
        b'{"function": "scoring:judge", "revision": "1", "task": [], "reply": "x"}\n',
        b'{"function": "scoring:judge", "revision": "1", "task": {}, "reply": 3}\n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_hostile_line_is_answered_and_harms_nobody(monkeypatch, line):
    calls = []
    with served(lambda task, reply: calls.append(reply) or True, monkeypatch) as path:
        assert "error" in json.loads(send(path, line))
        assert calls == []
        assert ask("x").hard == 1


def test_a_line_without_end_is_dropped(monkeypatch, capfd):
    monkeypatch.setattr(judge_server._Handler, "timeout", 0.1)
    with (
        served(lambda task, reply: True, monkeypatch) as path,
        socket.socket(socket.AF_UNIX) as held,
    ):
        held.settimeout(20)
        held.connect(str(path))
        held.sendall(b'{"function":')
        assert held.recv(100) == b""
        assert ask("x").hard == 1
    assert capfd.readouterr() == ("", "")


def test_a_worker_that_goes_away_is_not_heard_of(monkeypatch, capfd):
    asked, gone = threading.Event(), threading.Event()

    def judge(task, reply):
        asked.set()
        gone.wait(20)
        return True

    with served(judge, monkeypatch) as path:
        line = {"function": "scoring:judge", "revision": "1", "task": {}, "reply": "x"}
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.sendall(json.dumps(line).encode() + b"\n")
            assert asked.wait(20)
        gone.set()
        assert ask("x").hard == 1
    assert capfd.readouterr() == ("", "")


def test_only_this_user_can_reach_the_socket_and_it_is_gone_afterwards(monkeypatch):
    with served(lambda task, reply: True, monkeypatch) as path:
        folder = path.parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == os.geteuid()
    assert not folder.exists()
    with pytest.raises(JudgeUnavailable, match="cannot be asked"):
        ask("x")


def test_without_the_program_that_serves_it_there_is_no_score(monkeypatch):
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)
    with pytest.raises(JudgeUnavailable, match="call it again"):
        ask("x")


def test_a_judge_that_takes_too_long_is_named(monkeypatch):
    monkeypatch.setattr(function_judge, "ANSWER_TIMEOUT_S", 0.05)
    go = threading.Event()
    with (
        served(lambda task, reply: go.wait(20), monkeypatch),
        pytest.raises(JudgeUnavailable, match="no answer within"),
    ):
        ask("x")
    go.set()


@pytest.mark.parametrize("answer", [b"", b"3\n", b'{"hard": 1}\n', b'{"hard": 2, "soft": 0}\n'])
def test_an_answer_that_is_no_judgement_is_no_score(monkeypatch, tmp_path_factory, answer):
    folder = Path(tempfile.mkdtemp(prefix="so-"))
    monkeypatch.setenv(SOCKET_VARIABLE, str(folder / "s"))

    def answer_once() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(answer)

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "s"))
        server.listen()
        thread = threading.Thread(target=answer_once)
        thread.start()
        with pytest.raises(JudgeUnavailable, match="'scoring:judge'"):
            ask("x")
        thread.join()
    (folder / "s").unlink()
    folder.rmdir()


def test_a_temporary_folder_too_deep_for_a_socket_is_named(monkeypatch, tmp_path):
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with (
        pytest.raises(EmbeddedError, match="TMPDIR"),
        served(lambda task, reply: True, monkeypatch),
    ):
        pytest.fail("nothing can be served there")
    assert list(deep.iterdir()) == []
