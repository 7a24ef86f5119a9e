"""Every credential of every kind is planted; none of them is anywhere when the commands are done.

Servers and programs do their worst: they repeat what they were sent in errors, in answers, in
calls of tools, whole, masked and encoded.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest
import zstandard
from credentialed_fleet import CREDENTIALS, FAILING, REDIS, RUNS, SECRETS, Scene, digest_of, staged
from planted_secrets import Needles, unescaped

# The first test waits for all commands.
pytestmark = [pytest.mark.xdist_group("e2e-commands"), pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return staged(tmp_path_factory.mktemp("secrets"))


@pytest.fixture(scope="module")
def needles() -> Needles:
    return Needles(SECRETS)


def printed(scene: Scene, words: str) -> bytes:
    [said] = [said for name, said in scene.evidence["output"].items() if words in name]
    return said


def test_the_commands_ended_as_they_should(scene: Scene) -> None:
    expected = {name: 4 for name in FAILING} | {name: 0 for name in RUNS}
    for command, code in scene.codes.items():
        at, _, words = command.partition(": skillopt ")
        wanted = expected[at] if words.startswith(("run", "eval")) else 0
        if not words.startswith("doctor"):
            assert code == wanted, f"{command}: {scene.evidence['output'][command].decode()}"
    calls = {
        check["name"].removeprefix("call "): check["status"]
        for check in json.loads(printed(scene, "skillopt doctor"))["checks"]
        if check["name"].startswith("call ")
    }
    assert calls == {"chat": "ok", "entra": "ok", "claude_login": "ok"} | {
        name: "failed" for name in FAILING
    }


def test_every_credential_was_used_and_repeated_to_us(scene: Scene) -> None:
    assert scene.used == {*SECRETS} - {REDIS}
    shown = printed(scene, "skillopt show last --task")
    assert b"Owner: [hidden] [hidden] [hidden]" in shown, "of the agent's answer: plain and encoded"
    assert rb"contains \"Verdict:\" [hidden]" in shown, "of the judge's reply"
    assert b"[hidden]" in printed(scene, "failing: skillopt show last")
    changed = [text for place, text in scene.evidence["artifacts"].items() if "/skills/" in place]
    assert any(b"[hidden]" in text for text in changed), "of the optimizer's edits"


@pytest.mark.parametrize(
    "kind", ["redis", "messages", "logs", "events", "artifacts", "output", "arguments"]
)
def test_no_secret_is_in(kind: str, scene: Scene, needles: Needles) -> None:
    assert scene.evidence[kind], "nothing was looked at"
    assert needles.found_in_all(scene.evidence[kind]) == {}


def test_no_process_has_a_secret_that_it_has_no_use_for(scene: Scene, needles: Needles) -> None:
    seen = set()
    for shown, environment in scene.environments.items():
        kind, useful = use_of(shown)
        seen.add(kind)
        found = needles.found_in(environment)
        assert any(found <= allowed for allowed in useful), f"{shown} has {found}"
    assert seen >= {"command", "coordinator", "worker", "probe", "redis", "program"}


def use_of(command_line: str) -> tuple[str, list[set[str]]]:
    """Say what a process is, and which sets of secrets such a one may have."""
    by_backend = {
        **{name: {*names} for name, names in CREDENTIALS.items()},
        **{"refused": {"chat"}, "quoted": {"messages"}, "failing": {"codex_key"}},
    }
    worker = re.search(r"-m workers --backend (\w+)", command_line)
    if worker:
        return "worker", [{REDIS, *by_backend[worker.group(1)]}]
    if "-m producer.coordinator" in command_line:
        return "coordinator", [{REDIS}]
    if "-m producer.cli" in command_line:
        return "command", [{*SECRETS}]
    if "redis-server" in command_line:
        return "redis", [set()]
    if "-m skillopt.backends" in command_line:
        return "probe", list(by_backend.values())
    if re.search(r"/bin/(bad/)?(claude|codex|copilot) |/work/tools/|tool_command", command_line):
        return "program", list(by_backend.values())
    return "something that a library of ours asks, as uname", [{*SECRETS}]


def test_a_program_is_given_its_own_secret_and_nothing_else(scene: Scene, needles: Needles) -> None:
    for report in scene.reports:
        own = {name for name, secret in SECRETS.items() if digest_of(secret) in report["used"]}
        given = needles.found_in(json.dumps([report["env"], report["guard_env"]]).encode())
        assert given <= own
        assert needles.found_in(json.dumps([report["argv"], report["guard"]]).encode()) == set()


@pytest.mark.parametrize(
    "leak",
    [
        lambda secret: secret,
        lambda secret: secret[5:],
        lambda secret: f"***{secret[-8:]}",
        lambda secret: secret.encode().hex(),
        lambda secret: quote(secret, safe=""),
        lambda secret: json.dumps({"key": secret}).replace("/", "\\/"),
        lambda secret: b64encode(f"Bearer {secret}".encode()).decode(),
    ],
)
@pytest.mark.parametrize(
    "packed",
    [
        lambda leaked: leaked,
        lambda leaked: b"before" + zstandard.compress(leaked * 3) + b"after",
        lambda leaked: json.dumps({"body": b64encode(leaked * 9).decode()}).encode(),
    ],
)
def test_the_search_would_find_a_leak(leak: Any, packed: Any, needles: Needles) -> None:
    leaked = packed(f"x {leak(SECRETS['chat'])} y".encode())
    assert needles.found_in_all({"here": leaked, "there": b"nothing"}) == {"here": {"chat"}}
    assert needles.found_in(unescaped(b'0.1 [0 unix:] "SET" "k" "' + _escaped(leaked) + b'"'))


def _escaped(value: bytes) -> bytes:
    """As MONITOR writes it."""
    return "".join(f"\\x{byte:02x}" for byte in value).encode()
