"""Tools as commands: only what the broker answered was called."""

from __future__ import annotations

import asyncio
import json
import subprocess
from contextlib import suppress

import pytest

from skillopt.backends.cli.broker import Broker, describe_commands, write_commands
from skillopt.domain.item import Tool
from skillopt.errors import TaskError

SEARCH = Tool(name="search", description="Finds.", result="3 cäts")


@pytest.fixture
def run(tmp_path):
    """Serve tools while a function uses them; gives its value and the calls seen."""
    socket = tmp_path / "s"

    def serve(use, tools=(SEARCH,)):
        async def serving():
            async with Broker(socket, tools) as broker:
                value = await asyncio.to_thread(use, socket)
            return value, broker.calls

        return asyncio.run(serving())

    return serve


def raw(lines):
    """Speak to the broker by hand; `lines` gets the nonce."""
    import socket as sockets

    def use(path):
        with sockets.socket(sockets.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(str(path))
            stream = client.makefile("rw")
            stream.write(lines(stream.readline().strip()) + "\n")
            stream.flush()
            return json.loads(stream.readline())

    return use


def call(nonce, tool="search", **more):
    return json.dumps({"nonce": nonce, "tool": tool, "arguments": "{}", **more})


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ([], {}),
        (["cats", "--all"], {"argv": ["cats", "--all"]}),
        (['{"query": "cats"}'], {"query": "cats"}),
        (["{cats"], {"argv": ["{cats"]}),
        (["a b; rm -rf $HOME `x`"], {"argv": ["a b; rm -rf $HOME `x`"]}),
    ],
)
def test_a_command_prints_the_result_and_its_call_is_seen(tmp_path, run, words, arguments):
    def use(socket):
        write_commands(tmp_path, socket, (SEARCH,))
        return subprocess.run(
            ["tools/search", *words], cwd=tmp_path, env={}, capture_output=True, check=False
        )

    done, calls = run(use)
    assert (done.returncode, done.stdout.decode()) == (0, "3 cäts\n")
    assert [(seen.name, json.loads(seen.arguments)) for seen in calls] == [("search", arguments)]


def test_every_call_has_an_id_of_its_own(run):
    def use(socket):
        return [raw(call)(socket) for _ in range(3)]

    _, calls = run(use)
    assert len({seen.id for seen in calls}) == 3


@pytest.mark.parametrize(
    "lines",
    [
        lambda nonce: call("0" * 32),
        lambda nonce: call(""),
        lambda nonce: call(nonce, "delete_all"),
        lambda nonce: call(nonce, extra=1),
        lambda nonce: "search",
        lambda nonce: json.dumps([nonce]),
    ],
    ids=["foreign nonce", "no nonce", "unknown tool", "extra", "text", "list"],
)
def test_what_is_not_a_proper_call_is_refused_and_not_counted(run, lines):
    answer, calls = run(raw(lines))
    assert set(answer) == {"error"} and calls == ()


def test_a_nonce_is_good_for_its_own_connection_only(run):
    kept = []

    def use(socket):
        raw(lambda nonce: kept.append(nonce) or call(nonce))(socket)
        return raw(lambda nonce: call(kept[0]))(socket)

    answer, calls = run(use)
    assert "error" in answer and len(calls) == 1


def test_a_caller_that_goes_away_or_sends_without_end_harms_nobody(run):
    import socket as sockets

    def use(path):
        with sockets.socket(sockets.AF_UNIX) as client:
            client.connect(str(path))
        with sockets.socket(sockets.AF_UNIX) as client:
            client.connect(str(path))
            with suppress(OSError):
                client.sendall(b"x" * 1_000_000)
        return raw(call)(path)

    answer, calls = run(use)
    assert answer == {"result": "3 cäts"} and len(calls) == 1


def test_a_command_says_when_the_broker_is_gone(tmp_path):
    write_commands(tmp_path, tmp_path / "nobody", (SEARCH,))
    done = subprocess.run(["tools/search"], cwd=tmp_path, env={}, capture_output=True, check=False)
    assert done.returncode == 1 and b"cannot be reached" in done.stderr and done.stdout == b""


@pytest.mark.parametrize(
    "name",
    ["", "../x", "/bin/sh", "a/b", "a b", "-x", ".x", "1x", "é", "x" * 65, "a\n", "a;b", "$x"],
)
def test_a_name_that_could_be_a_path_or_an_option_is_refused(tmp_path, name):
    with pytest.raises(TaskError, match="cannot be the name of a tool"):
        write_commands(tmp_path, tmp_path / "s", (Tool(name=name),))
    assert list(tmp_path.iterdir()) == []


def test_names_that_differ_in_case_only_are_refused(tmp_path):
    with pytest.raises(TaskError, match="two tools are named 'Search'"):
        Broker(tmp_path / "s", (SEARCH, Tool(name="Search")))


def test_commands_are_described_with_their_schema():
    text = describe_commands((SEARCH, Tool(name="add", parameters={"type": "object"})))
    assert "- `./tools/search`: Finds." in text and '{"type": "object"}' in text
    assert describe_commands(()) == ""
