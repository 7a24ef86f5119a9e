"""Secrets are taken out of answers as well as errors, and nothing else is."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote

import pytest
from canned_provider import KEY, answering, canned, failing
from fake_programs import SECRET, FakeProgram, assignment, attempt
from wire_kinds import CHAT, HTTP_WIRES, MESSAGES, Wire, ask, named

from skillopt.backends.redaction import HIDDEN, as_message, without
from skillopt.domain.agent import AgentProgramName
from skillopt.domain.item import Tool
from skillopt.errors import CallError

LONG = "Key/of+the=world-0123456789"
every_kind = pytest.mark.parametrize(**named(HTTP_WIRES))


@every_kind
def test_a_server_that_answers_with_the_key_is_not_believed(wire: Wire) -> None:
    with answering(canned(wire.answer(f"You are {KEY}, that is {KEY.encode().hex()}."))) as server:
        reply = ask(wire.backend(server.root_url))
    assert reply.text == f"You are {HIDDEN}, that is {HIDDEN}."


@every_kind
def test_a_server_that_calls_a_tool_with_the_key_is_not_believed(wire: Wire) -> None:
    calling = wire.calling((f"id-{KEY}", "lookup", json.dumps({"key": KEY})))
    with answering(canned(calling)) as server:
        reply = ask(wire.backend(server.root_url), tools=(Tool(name="lookup"),))
    [call] = reply.tool_calls
    assert KEY not in repr(reply)
    assert (call.name, json.loads(call.arguments)) == ("lookup", {"key": HIDDEN})


def test_a_reason_to_stop_may_hold_the_key_too() -> None:
    with answering(canned(CHAT.answer("hello", finish=f"because of {KEY}"))) as server:
        reply = ask(CHAT.backend(server.root_url))
    assert reply.finish_reason == f"because of {HIDDEN}"


@every_kind
def test_a_placeholder_in_the_place_of_a_key_may_be_a_word_of_the_answer(wire: Wire) -> None:
    with answering(canned(wire.answer("Install ollama first."))) as server:
        reply = ask(wire.backend(server.root_url), key="ollama")
    assert reply.text == "Install ollama first."


@every_kind
def test_an_error_shows_no_key_however_short(wire: Wire) -> None:
    refusing = failing(400, "no such key: abc12, abc12")
    with answering(refusing) as server, pytest.raises(CallError) as raised:
        ask(wire.backend(server.root_url), key="abc12")
    assert "abc12" not in str(raised.value)


@pytest.mark.parametrize(**named((CHAT, MESSAGES)))
@pytest.mark.parametrize("before", [160, 170, 180])
def test_an_error_that_is_cut_within_the_key_shows_no_part_of_it(wire: Wire, before: int) -> None:
    key = "planted0123456789abcdef0123456789"
    said = wire.error(500, f"{'x' * before} {key} and more", "server_error")
    with answering(canned(said)) as server, pytest.raises(CallError) as raised:
        ask(wire.backend(server.root_url), key=key)
    assert key[:8] not in str(raised.value)


@pytest.mark.parametrize(
    "said",
    ["sk-ab***********wxyz", "Incorrect API key: 0a1b2c****************7788.", "key ********f00d"],
)
def test_a_masked_key_is_hidden_with_what_is_left_of_it(said: str) -> None:
    assert not set(as_message(said).split()) & {"wxyz", "7788.", "0a1b2c", "f00d"}
    assert not any(rest in as_message(said) for rest in ("wxyz", "7788", "0a1b2c", "f00d"))


@pytest.mark.parametrize(
    "spelling",
    [
        LONG,
        quote(LONG, safe=""),
        LONG.encode().hex(),
        LONG.encode().hex().upper(),
        *(b64encode(f"{before}{LONG}".encode()).decode() for before in ("", "x", "xy", "xyz")),
        urlsafe_b64encode(f"user:{LONG}".encode()).decode(),
    ],
)
def test_an_encoded_secret_is_hidden(spelling: str) -> None:
    left = without(f"It is {spelling} indeed.", [LONG])
    assert left.startswith("It is ") and left.endswith(" indeed.") and HIDDEN in left
    assert len(left) <= len("It is  indeed.") + len(HIDDEN) + 16, "little of it is left"


@pytest.mark.parametrize("secret", ["", None, "a", "ab", "abc", "short-word"])
def test_what_is_no_secret_changes_no_answer(secret: str | None) -> None:
    text = "abc short-word YWJj 616263 %20"
    assert without(text, [secret]) == text


@pytest.mark.parametrize("secret", ["a", "ab", "abc"])
def test_the_shortest_secret_is_taken_out_alone(secret: str) -> None:
    assert without(f"x {secret} y", [secret], shortest=1) == f"x {HIDDEN} y"


@pytest.mark.parametrize("name", ["claude", "copilot"])
def test_a_program_that_calls_a_tool_with_its_key_is_not_believed(
    tmp_path: Path, name: AgentProgramName
) -> None:
    body = f"subprocess.run(['./tools/lookup', {SECRET!r}], check=True)\n"
    plain = FakeProgram(tmp_path, name)
    answer = plain.path.read_text().splitlines()[-1]
    fake = FakeProgram(tmp_path, name, body + answer)
    reply = attempt(fake.agent(), assignment(tools=(Tool(name="lookup", result="7"),)))
    [call] = reply.tool_calls
    assert SECRET not in repr(reply)
    assert HIDDEN in call.arguments


def test_escapes_hide_no_secret_in_what_a_program_prints(tmp_path: Path) -> None:
    escaped = "".join(f"\\u{ord(character):04x}" for character in SECRET)
    event = '{"type": "result", "subtype": "success", "is_error": false, "result": "it is KEY"}'
    fake = FakeProgram(tmp_path, "claude", f"say({event.replace('KEY', escaped)!r})")
    assert attempt(fake.agent()).text == f"it is {HIDDEN}"
