"""Serves a Python function as the judge of a run, on a socket that only this user can open.

Each question has a connection and a thread of its own, so the function is called by several
threads at once: one that is not made for that takes a lock itself.
"""

from __future__ import annotations

import json
import os
import socketserver
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from producer.embedded.socket_folder import MAX_SOCKET_PATH_BYTES
from producer.judge_function import NamedFunction, judgement_of
from skillopt.errors import EmbeddedError
from skillopt.judges.function import MAX_LINE_BYTES

#: How often the end of the block is looked for.
_POLL_S = 0.05
#: A worker sends its whole question at once.
_READ_TIMEOUT_S = 60.0
_MAX_ERROR_CHARS = 500


@contextmanager
def serve(function: NamedFunction) -> Iterator[Path]:
    """Serve a function until the block ends; gives the socket's path.

    A call under way when the block ends goes on in its thread, unheard.
    """
    with tempfile.TemporaryDirectory(prefix="skillopt-judge-", ignore_cleanup_errors=True) as made:
        path = Path(made) / "j.sock"
        size = len(os.fsencode(path))
        if size > MAX_SOCKET_PATH_BYTES:
            raise EmbeddedError(
                f"socket path {str(path)!r} has {size} bytes, more than {MAX_SOCKET_PATH_BYTES}: "
                "set TMPDIR to a folder with a shorter path"
            )
        with _Server(str(path), function) as server:
            thread = threading.Thread(target=server.serve_forever, args=[_POLL_S], daemon=True)
            thread.start()
            try:
                yield path
            finally:
                server.shutdown()
                thread.join()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    #: Workers do not wait for a place: all of them may ask at the same moment.
    request_queue_size = 1024

    def __init__(self, path: str, function: NamedFunction) -> None:
        self.function = function
        super().__init__(path, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Stay silent about a worker that went away: it asks again."""


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = _READ_TIMEOUT_S

    def handle(self) -> None:
        line = self.rfile.readline(MAX_LINE_BYTES + 1)
        self.wfile.write(json.dumps(_answer(self.server.function, line)).encode() + b"\n")


def _answer(function: NamedFunction, line: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(line)
        named = (asked["function"], asked["revision"])
        task, reply = asked["task"], asked["reply"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return {"error": "the judge's question is not understood"}
    if not isinstance(task, dict) or not isinstance(reply, str):
        return {"error": "the judge's question is not understood"}
    if named != (function.name, function.revision):
        return {"error": f"another judge is served here: {function.name!r}"}
    try:
        return judgement_of(function.call(task, reply)).model_dump(mode="json")
    except BaseException as error:  # noqa: BLE001 - a user's function may raise anything, and
        # nobody else hears of it: an interrupt reaches the main thread, never this one.
        return {"failed": f"function {function.name!r} failed: {_in_words(error)}"}


def _in_words(error: BaseException) -> str:
    """Say what was raised on one line, also where the error cannot say it itself."""
    words = " ".join("".join(traceback.format_exception_only(error)).split())
    return words if len(words) <= _MAX_ERROR_CHARS else words[:_MAX_ERROR_CHARS] + " …"
