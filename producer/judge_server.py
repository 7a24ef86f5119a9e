"""Serves a Python function as the judge of a run, on a socket that only this user can open."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import socketserver
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt.domain.results import JudgementBody
from skillopt.errors import InputError
from skillopt.judges.function import MAX_LINE_BYTES

#: Values a function may close over and still be told apart from another by its source.
_PLAIN = (str, int, float, bool, bytes, type(None))


@dataclass(frozen=True)
class Score:
    """A judge's verdict: `soft` defaults to `hard`; `feedback` is shown to the analyst."""

    hard: float
    soft: float | None = None
    feedback: str = ""


#: What a judge may return: a Score, a truth value, or a number from 0 to 1 (hard only at 1).
Scored = Score | bool | float
JudgeFunction = Callable[[Mapping[str, Any], str], Scored]


@dataclass(frozen=True)
class NamedFunction:
    """A function with the name and the revision that its judgements are kept under."""

    call: JudgeFunction
    name: str
    revision: str


def name_function(function: JudgeFunction, version: str | None) -> NamedFunction:
    """Name a function for the cache. Raises InputError if what it does cannot be told by its
    source, and no `judge_version` says it.
    """
    name = f"{function.__module__}:{getattr(function, '__qualname__', type(function).__name__)}"
    revision = version or _revision(function)
    if revision is None:
        raise InputError(
            f"judge {name!r} has no source of its own or closes over objects, so a change of it "
            "would go unnoticed; give judge_version='1' and raise it whenever the judge changes"
        )
    return NamedFunction(function, name, revision)


def _revision(function: JudgeFunction) -> str | None:
    if not inspect.isfunction(function):
        return None
    closed = [cell.cell_contents for cell in function.__closure__ or ()]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if not all(isinstance(value, _PLAIN) for value in (*closed, *defaults)):
        return None
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return None
    return hashlib.sha256(repr((source, closed, defaults)).encode()).hexdigest()


@contextmanager
def serve(function: NamedFunction) -> Iterator[Path]:
    """Serve a function until the block ends; gives the socket's path."""
    with tempfile.TemporaryDirectory(prefix="skillopt-judge-") as folder:
        path = Path(folder) / "judge.sock"
        with _Server(str(path), function) as server:
            thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
            thread.start()
            try:
                yield path
            finally:
                server.shutdown()
                thread.join()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: str, function: NamedFunction) -> None:
        self.function = function
        super().__init__(path, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Stay silent about a worker that went away: it asks again."""


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        line = self.rfile.readline(MAX_LINE_BYTES)
        self.wfile.write(json.dumps(_answer(self.server.function, line)).encode() + b"\n")


def _answer(function: NamedFunction, line: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(line)
        known = (asked["function"], asked["revision"]) == (function.name, function.revision)
        task, reply = dict(asked["task"]), str(asked["reply"])
    except (KeyError, TypeError, ValueError):
        return {"error": "the question is not understood"}
    if not known:
        return {"error": f"another judge is served here: {function.name!r}"}
    try:
        return _judgement(function.call(task, reply)).model_dump(mode="json")
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        return {"error": f"judge {function.name!r} raised {type(error).__name__}: {error}"}


def _judgement(scored: object) -> JudgementBody:
    if isinstance(scored, bool):
        scored = Score(float(scored))
    elif isinstance(scored, int | float):
        scored = Score(float(scored >= 1), float(scored))
    if not isinstance(scored, Score):
        raise TypeError(f"a judge returns a Score, a bool or a number, not {scored!r}")
    soft = scored.hard if scored.soft is None else scored.soft
    for value in (scored.hard, soft):
        if not (math.isfinite(value) and 0 <= value <= 1):
            raise ValueError(f"a score lies between 0 and 1, not at {value!r}")
    return JudgementBody(hard=float(scored.hard), soft=float(soft), feedback=scored.feedback)
