"""`skillopt token`: made, listed, revoked; shown once."""

from __future__ import annotations

import json

import pytest

from producer.cli.main import run_command


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_command(["token", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_token_is_printed_alone_and_listed_without_itself(
    redis_url: str, capsys: pytest.CaptureFixture[str]
):
    at = ("--redis", redis_url)
    code, out, err = _run(
        capsys, "create", "laptop", "--role", "runner", "--owner", "alice", "--team", "blue", *at
    )
    assert code == 0, err
    secret = out.strip()
    assert secret.startswith("sofl_")
    assert secret not in err
    assert "runner for alice of team blue" in err
    code, out, err = _run(capsys, "list", *at)
    assert code == 0
    assert "laptop" in out
    assert secret not in out + err
    code, out, _ = _run(capsys, "list", "--json", *at)
    [listed] = json.loads(out)["tokens"]
    assert (listed["name"], listed["role"], listed["owner"], listed["team"]) == (
        "laptop", "runner", "alice", "blue"
    )  # fmt: skip
    assert set(listed) == {"name", "role", "owner", "team", "created_at", "expires_at"}


def test_a_program_gets_the_token_as_json(redis_url: str, capsys: pytest.CaptureFixture[str]):
    code, out, _ = _run(
        capsys, "create", "ci", "--owner", "alice", "--days", "1", "--json", "--redis", redis_url
    )
    assert code == 0
    made = json.loads(out)
    assert made["token"].startswith("sofl_")
    assert made["role"] == "viewer"
    assert made["expires_at"] > made["created_at"]


def test_revoking_ends_a_token_and_names_the_others(
    redis_url: str, capsys: pytest.CaptureFixture[str]
):
    at = ("--redis", redis_url)
    _run(capsys, "create", "first", "--owner", "alice", *at)
    _run(capsys, "create", "two", "--owner", "alice", *at)
    assert _run(capsys, "revoke", "first", *at)[0] == 0
    code, _, err = _run(capsys, "revoke", "first", *at)
    assert code == 2
    assert "no token 'first' is in force; there are: two" in err
    assert "first" not in _run(capsys, "list", *at)[1]


def test_a_taken_name_and_a_wrong_one_are_refused(
    redis_url: str, capsys: pytest.CaptureFixture[str]
):
    at = ("--redis", redis_url)
    _run(capsys, "create", "first", "--owner", "alice", *at)
    code, out, err = _run(capsys, "create", "first", "--owner", "bob", *at)
    assert (code, out) == (2, "")
    assert "in force already" in err
    assert _run(capsys, "create", "a b", "--owner", "bob", *at)[0] == 2
    assert _run(capsys, "create", "x", *at)[0] == 2
