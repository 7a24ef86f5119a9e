"""An agent program as a backend of the catalogue, and what it answers without a task."""

from __future__ import annotations

import asyncio
import os

import pytest
from fake_programs import SECRET, URL, FakeProgram, assignment, attempt

from skillopt.backends.cli.agent import CliAgent
from skillopt.backends.cli.contract import AgentBackend
from skillopt.backends.cli.workspace import WorkspaceFile
from skillopt.backends.probe import PROMPT, probe
from skillopt.backends.registry import open_backend
from skillopt.domain.agent import AgentAccess
from skillopt.domain.backend import Backend, Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Image, Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.errors import BadRequest, ConfigError

SCHEMA = ReplySchema(name="form", body={"type": "object", "properties": {}})


@pytest.mark.parametrize(
    ("name", "flag"), [("claude", "--json-schema"), ("codex", "--output-schema"), ("copilot", None)]
)
def test_a_form_is_asked_for_where_the_program_can_and_left_to_the_prompt_where_not(
    tmp_path, name, flag
):
    program = FakeProgram(tmp_path, name)
    reply = asyncio.run(
        program.agent().complete(
            [Message(role="user", content="U")], params=Params(), schema=SCHEMA
        )
    )
    assert reply.text == "the answer"
    argv = program.seen["argv"]
    assert [word for word in argv if "schema" in word and word.startswith("--")] == (
        [flag] if flag else []
    )


@pytest.mark.parametrize(
    "given",
    [
        {"params": Params(temperature=0.0)},
        {"tools": (Tool(name="search"),)},
    ],
)
def test_what_a_program_cannot_be_given_with_a_prompt_is_refused_and_nothing_runs(tmp_path, given):
    program = FakeProgram(tmp_path, "claude")
    with pytest.raises(BadRequest, match="an agent program"):
        asyncio.run(program.agent().complete([Message(role="user", content="U")], **given))
    assert not program.report.exists()


def test_a_picture_needs_a_task(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    picture = Image(media_type="image/png", sha256="0" * 64, data=b"x")
    with pytest.raises(BadRequest, match=r"files by attempt\(\)"):
        asyncio.run(
            program.agent().complete([Message(role="user", content="U", images=(picture,))])
        )


def test_files_of_the_skill_are_named_beside_a_skill_in_the_prompt(tmp_path):
    program = FakeProgram(tmp_path, "codex")
    given = assignment(skill_files=(WorkspaceFile("ref/notes.md", b"notes"),))
    attempt(program.agent(), given)
    assert "- `skill/ref/notes.md`" in program.seen["stdin"]
    assert program.seen["files"] == ["skill/ref/notes.md", "task.md"]


# --- as a backend of the catalogue ----------------------------------------------------------------


def backend_of(program: FakeProgram, **agent) -> Backend:
    access = AgentAccess(program=program.name, executable=str(program.path), **agent)
    return Backend(
        name="mine",
        kind=f"{program.name}_cli",
        model="m",
        base_url=URL,
        api_key_env="THE_KEY",
        timeout_s=7.0,
        agent=access,
    )


def test_a_backend_opens_as_its_program_with_its_deadline_first(tmp_path):
    program = FakeProgram(tmp_path, "codex")
    backend = backend_of(program, network=True, effort="low")
    agent = open_backend(backend, {**os.environ, "THE_KEY": SECRET})
    assert isinstance(agent, CliAgent) and isinstance(agent, AgentBackend)
    options = agent._options
    assert (options.model, options.network, options.effort) == ("m", True, "low")
    assert options.timeout_s == 7.0 < backend.longest_call_s


def test_a_login_that_others_use_may_be_waited_for_as_long_as_a_run_may_take(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    waiting = backend_of(program, auth="login_file", login_file=tmp_path / "l")
    assert waiting.longest_call_s > 2 * waiting.timeout_s


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"api_key_env": None}, "'mine': .*needs api_key_env"),
        ({"base_url": "http://example.org"}, "'mine': .*unencrypted to 'example.org'"),
        ({"api_key_env": "NOT_SET"}, "'mine': claude needs .* 'NOT_SET', which is not set"),
    ],
)
def test_a_backend_that_cannot_be_run_is_named(tmp_path, changed, words):
    backend = backend_of(FakeProgram(tmp_path, "claude")).model_copy(update=changed)
    with pytest.raises(ConfigError, match=words) as caught:
        open_backend(backend, {**os.environ, "THE_KEY": SECRET})
    assert SECRET not in str(caught.value)


def test_a_probe_asks_the_program_itself(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    found = asyncio.run(probe(program.agent(), backend_of(program)))
    assert found.answered and not found.estimated
    assert program.seen["stdin"] == PROMPT
