"""The error table of the agent programs, row by row, each played by a script.

A script prints and exits as the real program was seen to; nothing that a program says about a
failure is an answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from fake_programs import ANSWERS, FakeProgram, attempt

from skillopt.errors import (
    AuthFailed,
    BadRequest,
    CallError,
    CallTimeout,
    ConnectionFailed,
    ContentFiltered,
    RateLimited,
    ServerFailed,
)

Program = Literal["claude", "codex", "copilot"]


@dataclass(frozen=True)
class Row:
    """What a program prints (JSON lines or words, then words on stderr) before it exits."""

    case: str
    program: Program
    expected: type[CallError]
    stdout: Sequence[Any] = ()
    stderr: str = ""
    code: int = 1

    @property
    def script(self) -> str:
        lines = [one if isinstance(one, str) else json.dumps(one) for one in self.stdout]
        return f"say(*{lines!r})\nsys.stderr.write({self.stderr!r})\nsys.exit({self.code})"


def claude(text: str, status: int | None = None) -> dict[str, Any]:
    """Claude Code calls a failed request a success, and says is_error."""
    return {"type": "result", "subtype": "success", "is_error": True, "result": text,
            "api_error_status": status, "terminal_reason": "api_error"}  # fmt: skip


def codex(text: str) -> list[dict[str, Any]]:
    return [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        {"type": "error", "message": text},
        {"type": "turn.failed", "error": {"message": text}},
    ]


def copilot(kind: str, text: str, status: int | None) -> list[dict[str, Any]]:
    failed = {"errorType": kind, "message": text, "statusCode": status}
    return [
        {"type": "model.call_failure", "data": {"statusCode": status, "retryAttempt": 1}},
        {"type": "session.error", "data": failed},
        {"type": "result", "exitCode": 1},
    ]


FILTERED = json.dumps({"error": {"code": "content_filter", "message": "The prompt was filtered"}})
ROWS = (
    Row("401", "claude", AuthFailed, [claude("Invalid API key · Fix external API key", 401)]),
    Row("401 in words on stdout", "claude", AuthFailed, ["Invalid API key · Fix external API key"]),
    Row("no key", "claude", AuthFailed, ["Not logged in · Please run /login"]),
    Row("429", "claude", RateLimited, [claude("API Error: Request rejected (429) · slow", 429)]),
    Row("429 in words on stdout", "claude", RateLimited, ["API Error: Request rejected (429)"]),
    Row("400 content filter", "claude", ContentFiltered,
        [claude("API Error: 400 Output blocked by content filter", 400)]),
    Row("connection refused", "claude", ConnectionFailed,
        [claude("API Error: Connection refused")]),
    Row("connection refused in words on stdout", "claude", ConnectionFailed,
        ["API Error: Connection refused"]),
    Row("401", "codex", AuthFailed, codex("unexpected status 401 Unauthorized: no, url: h")),
    Row("401 in words on stderr", "codex", AuthFailed,
        stderr="ERROR: unexpected status 401 Unauthorized: no"),
    Row("no key", "codex", AuthFailed, codex("Missing environment variable: `MOCK_KEY`.")),
    Row("429", "codex", RateLimited,
        codex("exceeded retry limit, last status: 429 Too Many Requests")),
    Row("400 content filter", "codex", ContentFiltered, codex(FILTERED)),
    Row("connection refused", "codex", ConnectionFailed,
        codex("stream disconnected before completion: error sending request")),
    Row("a turn that never ends", "codex", ServerFailed, [{"type": "turn.started"}], code=0),
    Row("401", "copilot", AuthFailed,
        copilot("authentication", "Authentication failed (HTTP 401).", 401)),
    Row("401 in words on stderr", "copilot", AuthFailed,
        stderr="Error: Authentication failed (HTTP 401)."),
    Row("no key, offline", "copilot", BadRequest,
        stderr="Offline mode requires a local model provider"),
    Row("no key", "copilot", AuthFailed, stderr="Error: No authentication information found."),
    Row("429", "copilot", RateLimited, copilot("rate_limit", "429 slow down", 429)),
    Row("400 content filter", "copilot", ContentFiltered,
        copilot("query", "400 content_filter: filtered", 400)),
    Row("400", "copilot", BadRequest, copilot("query", "400 bad value", 400)),
    Row("connection refused", "copilot", ConnectionFailed,
        copilot("connection", "connect ECONNREFUSED 127.0.0.1:9", None)),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.program}: {row.case}" for row in ROWS])
def test_a_failure_has_its_class(tmp_path: Path, row: Row) -> None:
    program = FakeProgram(tmp_path, row.program, row.script)
    with pytest.raises(CallError) as raised:
        attempt(program.agent())
    assert type(raised.value) is row.expected
    assert program.leftovers() == []


#: Ends of a program that name no class of ours, but must not be answers either.
OTHERS = (
    Row("outside a git checkout", "codex", CallError,
        stderr="Not inside a trusted directory and --skip-git-repo-check was not specified."),
    Row("a provider without a model", "copilot", CallError,
        stderr="Error: a model must be given for a custom provider"),
    Row("an answer, then exit code 1", "claude", CallError, ANSWERS["claude"]),
    Row("an answer, then exit code 1", "codex", CallError, ANSWERS["codex"]),
    Row("an answer, then exit code 1", "copilot", CallError, ANSWERS["copilot"]),
    Row("words alone with exit code 0", "claude", CallError, ["Everything is fine."], code=0),
    Row("words alone with exit code 0", "codex", CallError, ["Everything is fine."], code=0),
    Row("words alone with exit code 0", "copilot", CallError, ["Everything is fine."], code=0),
)  # fmt: skip


@pytest.mark.parametrize("row", OTHERS, ids=[f"{row.program}: {row.case}" for row in OTHERS])
def test_any_other_end_is_no_answer(tmp_path: Path, row: Row) -> None:
    with pytest.raises(CallError):
        attempt(FakeProgram(tmp_path, row.program, row.script).agent())


def test_a_program_that_waits_for_the_network_for_ever_is_ended(tmp_path: Path) -> None:
    waiting = {"type": "error", "message": "Reconnecting... waiting for network"}
    program = FakeProgram(tmp_path, "codex", f"say({waiting!r})\ntime.sleep(600)")
    with pytest.raises(CallTimeout):
        attempt(program.agent(timeout_s=1.5))
    assert program.leftovers() == []


DENIED: dict[Program, Sequence[dict[str, Any]]] = {
    "claude": [
        {**ANSWERS["claude"][0], "permission_denials": [{"tool_name": "Bash", "tool_input": {}}]}
    ],
    "codex": [
        {"type": "item.completed", "item": {
            "id": "c", "type": "command_execution", "command": "./search x", "exit_code": 1,
            "aggregated_output": "Read-only file system", "status": "failed"}},
        {"type": "item.completed", "item": {"id": "w", "type": "error", "message": "a warning"}},
        *ANSWERS["codex"],
    ],
    "copilot": [
        {"type": "tool.execution_complete", "data": {
            "success": False, "error": {"code": "denied", "message": "denied"}}},
        *ANSWERS["copilot"],
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", DENIED)
def test_a_tool_that_was_not_permitted_leaves_the_answer_an_answer(
    tmp_path: Path, name: Program
) -> None:
    row = Row("denied", name, CallError, DENIED[name], code=0)
    reply = attempt(FakeProgram(tmp_path, name, row.script).agent())
    assert (reply.text, reply.tools_called) == ("the answer", ())


def test_a_program_that_gave_up_at_its_turn_limit_answered_nothing(tmp_path: Path) -> None:
    event = {"type": "result", "subtype": "error_max_turns", "is_error": True, "num_turns": 1}
    row = Row("max turns", "claude", CallError, [event])
    reply = attempt(FakeProgram(tmp_path, "claude", row.script).agent())
    assert (reply.text, reply.finish_reason) == ("", "max_turns")
