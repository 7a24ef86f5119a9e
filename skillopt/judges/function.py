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
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.errors import JudgeFailed, JudgeUnavailable
from skillopt.judges.scorer import missing_answer

SOCKET_VARIABLE = "SKILLOPT_JUDGE_SOCKET"
ANSWER_TIMEOUT_S = 300.0
#: Of a question, and of an answer.
MAX_LINE_BYTES = 64_000_000


class FunctionScorer:
    """Asks the function; one connection a judgement, one line of JSON each way."""

    version = 1

    def problems(self, judge: FunctionJudge) -> list[str]:
        return [] if judge.function and judge.revision else ["it names no function and revision"]

    def score(self, judge: FunctionJudge, reply: ReplyBody) -> JudgementBody | InvalidBody:
        """Score a reply; raises JudgeFailed, with the function's own error, if it fails."""
        missing = missing_answer(reply)
        if missing is not None:
            return JudgementBody(hard=0.0, soft=0.0, feedback=missing)
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
        question = json.dumps(asked).encode() + b"\n"
        if len(question) > MAX_LINE_BYTES:
            size = f"{len(question)} bytes, more than {MAX_LINE_BYTES}"
            return InvalidBody(reason=f"task and answer together have {size}: too long to judge")
        answer = _ask(path, question, judge.function)
        if "failed" in answer:
            raise JudgeFailed(str(answer["failed"]))
        if "error" in answer:
            raise JudgeUnavailable(str(answer["error"]))
        try:
            return JudgementBody.model_validate(answer)
        except ValidationError as error:
            raise JudgeUnavailable(f"function {judge.function!r} gave no score: {error}") from error


def _ask(path: str, question: bytes, function: str) -> dict[str, Any]:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_TIMEOUT_S)
            connection.connect(path)
            connection.sendall(question)
            with connection.makefile("rb") as stream:
                line = stream.readline(MAX_LINE_BYTES)
    except TimeoutError as error:
        raise JudgeUnavailable(
            f"function {function!r} gave no answer within {ANSWER_TIMEOUT_S:g} s"
        ) from error
    except OSError as error:
        raise JudgeUnavailable(f"function {function!r} cannot be asked: {error}") from error
    try:
        answer = json.loads(line)
    except ValueError as error:
        raise JudgeUnavailable(f"function {function!r} broke off its answer: {error}") from error
    if not isinstance(answer, dict):
        raise JudgeUnavailable(f"function {function!r} answered {type(answer).__name__}")
    return answer
