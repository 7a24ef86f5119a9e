"""No error of a program ever becomes an answer: one row for each way to fail."""

from __future__ import annotations

import json

import pytest

from skillopt.backends.cli.agent import PROGRAMS
from skillopt.backends.cli.outcome import answer_of
from skillopt.backends.cli.process import Finished
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    CallTimeout,
    ConnectionFailed,
    ContentFiltered,
    RateLimited,
    ServerFailed,
    UnknownModel,
)


def answer(program, workspace, code, *events, stderr=""):
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    stdout = "\n".join(lines)
    trace = PROGRAMS[program]().trace(stdout, workspace)
    return answer_of(program, Finished(code, stdout, stderr), trace)


def claude_error(text, status=None, kind=None):
    """As the program reports a failed request: its subtype is "success" all the same."""
    return {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "result": text,
        "api_error_status": status,
        "api_error_type": kind,
        "terminal_reason": "api_error",
    }


def codex_error(text):
    return {"type": "turn.failed", "error": {"message": text}}


def copilot_error(kind, text, status=None):
    return {
        "type": "session.error",
        "data": {"errorType": kind, "message": text, "statusCode": status},
    }


COPILOT_END = {"type": "result", "exitCode": 1}
FILTER = json.dumps({"error": {"code": "content_filter", "message": "filtered"}})
ROWS = [
    ("claude", claude_error("Failed to authenticate. API Error: 401 no", 401), AuthFailed),
    ("claude", claude_error("Invalid API key · Fix external API key"), AuthFailed),
    ("claude", claude_error("Not logged in · Please run /login"), AuthFailed),
    ("claude", claude_error("Credit balance is too low"), AuthFailed),
    ("claude", claude_error("API Error: Request rejected (429) · slow down", 429), RateLimited),
    ("claude", claude_error("API Error: Request rejected (429) · slow down"), RateLimited),
    ("claude", claude_error("You've hit your limit · resets 3pm"), RateLimited),
    ("claude", claude_error("API Error: 400 bad", 400), BadRequest),
    (
        "claude",
        claude_error("API Error: 400 Output blocked by content filter", 400),
        ContentFiltered,
    ),
    ("claude", claude_error("API Error: 404 model: x", 404), UnknownModel),
    ("claude", claude_error("API Error: 529 Overloaded", 529), RateLimited),
    ("claude", claude_error("API Error: 402 no credit", 402), AuthFailed),
    ("claude", claude_error("API Error: 500 oops", 500), ServerFailed),
    ("claude", claude_error("API Error: Connection refused (ECONNREFUSED)"), ConnectionFailed),
    ("claude", claude_error("Request timed out"), CallTimeout),
    ("claude", "error: unknown option '--schema'", BadRequest),
    ("claude", "Not logged in · Please run /login", AuthFailed),
    ("claude", {"type": "result", "subtype": "error_during_execution"}, ServerFailed),
    ("codex", codex_error("unexpected status 401 Unauthorized: no, url: http://h/v1"), AuthFailed),
    ("codex", codex_error("Missing environment variable: `KEY`."), AuthFailed),
    ("codex", codex_error("Your access token could not be refreshed: refresh token"), AuthFailed),
    ("codex", codex_error("exceeded retry limit, last status: 429 Too Many Requests"), RateLimited),
    ("codex", codex_error("You've hit your usage limit. Upgrade to Pro"), RateLimited),
    ("codex", codex_error(FILTER), ContentFiltered),
    ("codex", codex_error(json.dumps({"error": {"message": "no such luck"}})), BadRequest),
    ("codex", codex_error("unexpected status 404 Not Found: x"), UnknownModel),
    ("codex", codex_error("We're currently experiencing high demand"), ServerFailed),
    ("codex", codex_error("stream disconnected before completion"), ConnectionFailed),
    (
        "codex",
        {"type": "error", "message": "Reconnecting... waiting for network"},
        ConnectionFailed,
    ),
    ("codex", "error: unexpected argument '--full-auto' found", BadRequest),
    (
        "copilot",
        copilot_error("authentication", "Authentication failed (HTTP 401).", 401),
        AuthFailed,
    ),
    ("copilot", "Error: No authentication information found.", AuthFailed),
    ("copilot", copilot_error("rate_limit", "429 slow down", 429), RateLimited),
    ("copilot", copilot_error("query", "400 no such luck", 400), BadRequest),
    ("copilot", copilot_error("query", "400 content_filter", 400), ContentFiltered),
    ("copilot", copilot_error("query", "Last error: 500 no", 500), ServerFailed),
    ("copilot", "Offline mode requires a local model provider", BadRequest),
    ("copilot", COPILOT_END, ServerFailed),
]


@pytest.mark.parametrize(("program", "event", "expected"), ROWS)
def test_each_failure_has_its_class(workspace, program, event, expected):
    with pytest.raises(expected) as caught:
        answer(program, workspace, 1, event)
    assert type(caught.value) is expected
    assert 0 < len(str(caught.value)) <= 200


@pytest.mark.parametrize(("program", "event", "expected"), ROWS)
def test_a_reported_failure_counts_even_with_exit_code_0(workspace, program, event, expected):
    kind = ServerFailed if isinstance(event, str) or event is COPILOT_END else expected
    with pytest.raises(kind):
        answer(program, workspace, 0, event)


@pytest.mark.parametrize("program", list(PROGRAMS))
@pytest.mark.parametrize(
    ("code", "expected", "words"),
    [
        (124, CallTimeout, "in time"),
        (126, BadRequest, "cannot be executed"),
        (127, BadRequest, "not found"),
        (137, ServerFailed, "SIGKILL"),
        (139, ServerFailed, "SIGSEGV"),
        (1, ServerFailed, "exit code 1"),
    ],
)
def test_an_exit_code_alone_is_no_answer(workspace, program, code, expected, words):
    with pytest.raises(expected, match=words):
        answer(program, workspace, code)


@pytest.mark.parametrize("program", list(PROGRAMS))
def test_silence_with_exit_code_0_is_no_answer(workspace, program):
    with pytest.raises(ServerFailed, match="without reporting an answer"):
        answer(program, workspace, 0, "some words on stdout")


@pytest.mark.parametrize("program", list(PROGRAMS))
def test_an_answer_of_a_program_that_then_failed_does_not_count(workspace, program):
    from fake_programs import ANSWERS

    with pytest.raises(ServerFailed):
        answer(program, workspace, 1, *ANSWERS[program])


def test_a_program_that_gave_up_at_its_turn_limit_gave_no_answer_but_is_no_outage(workspace):
    event = {"type": "result", "subtype": "error_max_turns", "is_error": True, "errors": ["x"]}
    assert answer("claude", workspace, 1, event) == ""


def test_a_refused_credential_is_reported_without_the_providers_words(workspace):
    event = claude_error("API Error: 401 key sk-ant-something-secret-12345 is bad", 401)
    with pytest.raises(AuthFailed) as caught:
        answer("claude", workspace, 1, event)
    assert "sk-ant" not in str(caught.value)


def test_what_looks_like_a_key_is_hidden_in_any_error(workspace):
    with pytest.raises(ServerFailed) as caught:
        answer("claude", workspace, 1, stderr="dump: sk-ant-api03-aaaaaaaaaaaaaaaaaaaa")
    assert "[hidden]" in str(caught.value) and "api03" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("429: try again in 7s", 7.0),
        ("429: retry after 1.5 seconds", 1.5),
        ("429: try again in 20ms", 0.02),
        ("429: try again in 90h", 3600.0),
        ("429: retried 5 times (total retry wait time: 5.59 seconds)", None),
    ],
)
def test_the_wait_that_a_provider_asks_for_is_read_from_its_words(workspace, said, seconds):
    with pytest.raises(RateLimited) as caught:
        answer("copilot", workspace, 1, copilot_error("rate_limit", said, 429))
    assert caught.value.retry_after_s == seconds
