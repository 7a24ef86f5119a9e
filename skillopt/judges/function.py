"""A judge that is a Python function in another process of this machine.

The process that started the run serves its function on a private socket, whose path workers find
in their environment. A function that cannot be asked, or that fails, gives no score at all.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from pydantic import ValidationError

from skillopt.domain.item import FunctionJudge
from skillopt.domain.results import JudgementBody, ReplyBody
from skillopt.errors import JudgeUnavailable

SOCKET_VARIABLE = "SKILLOPT_JUDGE_SOCKET"
ANSWER_TIMEOUT_S = 300.0
MAX_LINE_BYTES = 8_000_000


class FunctionScorer:
    """Asks the function; one connection a judgement, one line of JSON each way."""

    version = 1

    def problems(self, judge: FunctionJudge) -> list[str]:
        return [] if judge.function and judge.revision else ["it names no function and revision"]

    def score(self, judge: FunctionJudge, reply: ReplyBody) -> JudgementBody:
        path = os.environ.get(SOCKET_VARIABLE)
        if not path:
            raise JudgeUnavailable(
                f"function {judge.function!r} is served only while the program that started the "
                "run is there; call it again"
            )
        asked = {
            "function": judge.function,
            "revision": judge.revision,
            "task": judge.task,
            "reply": reply.text,
        }
        answer = _ask(path, asked, judge.function)
        if "error" in answer:
            raise JudgeUnavailable(str(answer["error"]))
        try:
            return JudgementBody.model_validate(answer)
        except ValidationError as error:
            raise JudgeUnavailable(f"function {judge.function!r} gave no score: {error}") from error


def _ask(path: str, asked: dict[str, Any], function: str) -> dict[str, Any]:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_TIMEOUT_S)
            connection.connect(path)
            connection.sendall(json.dumps(asked).encode() + b"\n")
            with connection.makefile("rb") as stream:
                line = stream.readline(MAX_LINE_BYTES)
        answer = json.loads(line)
    except (OSError, ValueError) as error:
        raise JudgeUnavailable(f"function {function!r} cannot be asked: {error}") from error
    if not isinstance(answer, dict):
        raise JudgeUnavailable(f"function {function!r} answered {type(answer).__name__}")
    return answer
