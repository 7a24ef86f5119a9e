"""The real agent programs against a provider on loopback, where they are installed.

`SKILLOPT_TEST_AGENTS` names the folder with `claude`, `codex` and `copilot`: those on the PATH may
be of any version, so they are not used.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from functools import partial
from pathlib import Path

import pytest
from agent_provider import ANSWER, agent_provider

from skillopt.backends.cli.agent import CliAgent
from skillopt.backends.cli.contract import Assignment
from skillopt.backends.cli.options import CliOptions
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.errors import AuthFailed, BadRequest, CallTimeout, RateLimited
from skillopt.programs.version import VERSION
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running

SECRET = "sk-planted-0123456789abcdef"
FOLDER = os.environ.get("SKILLOPT_TEST_AGENTS")
SKILL = "---\nname: planted-skill\ndescription: Planted words.\n---\nBe brief, says the skill.\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Shared, since a program unpacks itself into its cache once."""
    return tmp_path_factory.mktemp("a", numbered=True) / "r"


@pytest.fixture(params=["claude", "codex", "copilot"])
def made(request, root):
    """Make an agent of an installed program; gives a function, and its provider."""
    name = request.param
    executable = shutil.which(name, path=FOLDER) if FOLDER else None
    if executable is None:
        pytest.skip(f"{name} is not in the folder that SKILLOPT_TEST_AGENTS names")
    with agent_provider() as provider:

        def make(**changed):
            usual = {
                "program": name,
                "executable": executable,
                "model": "mock",
                "api_key_env": "K",
                "base_url": provider.url,
                "timeout_s": 60.0,
            }
            if name == "codex":
                usual["network"] = True
            options = CliOptions(**{**usual, **changed})
            return CliAgent(options, {**os.environ, "K": SECRET}, root)

        yield make, provider


def assignment(task: str, **more) -> Assignment:
    def put(task: str, skill: str) -> tuple[Message, ...]:
        return (Message(role="system", content=skill), Message(role="user", content=task))

    return Assignment(partial(put, task), SKILL, **more)


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.name != "cache"]


def running_in(root: Path) -> list[str]:
    """Processes whose working folder is below the root."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(root) in os.readlink(entry / "cwd"):  # noqa: PTH115
                found.append(entry.name)
        except OSError:
            continue  # gone meanwhile, or another user's
    return found


@pytest.mark.parametrize("delivery", ["prompt", "file", "native"])
def test_a_task_with_a_tool_is_answered(made, root, delivery):
    make, provider = made
    tools = (Tool(name="search", description="Finds.", result="FOUND 42"),)
    given = assignment("RUN: ./tools/search cats; env", tools=tools)
    reply = asyncio.run(make(skill_delivery=delivery).attempt(given))
    assert (reply.text, reply.tools_called) == (ANSWER, ("search",))
    assert "FOUND 42" in "".join(message.content for message in reply.messages)
    assert (reply.usage.output_tokens, reply.usage.estimated) == (10, False)
    sent = json.dumps(provider.requests)
    shown = {"prompt": "says the skill", "file": "skill/SKILL.md", "native": "Planted words."}
    assert shown[delivery] in sent
    assert ("says the skill" in sent) == (delivery == "prompt")
    # The agent printed its environment: the key was not in it.
    assert SECRET not in sent and SECRET not in repr(reply)
    assert leftovers(root) == [] and running_in(root) == []


def test_a_prompt_is_answered_without_tools(made):
    make, provider = made
    messages = [Message(role="system", content="S-planted"), Message(role="user", content="U")]
    reply = asyncio.run(make().complete(messages))
    assert (reply.text, reply.usage.output_tokens) == (ANSWER, 5)
    assert len(provider.requests) == 1 and "S-planted" in json.dumps(provider.requests)
    names = json.dumps(provider.requests[0].get("tools", []))
    assert "command" not in names


@pytest.mark.parametrize(
    ("status", "expected"), [(401, AuthFailed), (429, RateLimited), (400, BadRequest)]
)
def test_a_refusal_of_the_provider_is_no_answer(made, root, status, expected):
    make, provider = made
    provider.failure = status
    with pytest.raises(expected):
        asyncio.run(make().complete([Message(role="user", content="U")]))
    assert leftovers(root) == []


def test_a_provider_that_never_answers_is_a_timeout_and_leaves_no_process(made, root):
    make, provider = made
    provider.stalled = True
    with pytest.raises(CallTimeout):
        asyncio.run(make(timeout_s=4.0).complete([Message(role="user", content="U")]))
    assert provider.requests and leftovers(root) == [] and running_in(root) == []


def test_nothing_of_the_users_own_configuration_is_read(made, tmp_path, monkeypatch):
    make, provider = made
    for folder in (".claude", ".codex", ".copilot", ".agents"):
        skill = tmp_path / folder / "skills" / "mine"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text("---\nname: mine\ndescription: LEAKED\n---\nLEAKED")
        (tmp_path / folder / "CLAUDE.md").write_text("LEAKED")
        (tmp_path / folder / "AGENTS.md").write_text("LEAKED")
    monkeypatch.setenv("HOME", str(tmp_path))
    asyncio.run(make(skill_delivery="native").attempt(assignment("hello")))
    assert "LEAKED" not in json.dumps(provider.requests)


def test_the_version_is_known(made):
    make, _ = made
    assert any(letter.isdigit() for letter in asyncio.run(make().version()))


@pytest.mark.parametrize("made", ["claude"], indirect=True)
@pytest.mark.parametrize("auth", ["oauth_token", "login_file"])
def test_a_login_of_claude_works_inside_its_isolated_home(made, tmp_path, auth):
    make, provider = made
    token = {"accessToken": SECRET, "refreshToken": f"{SECRET}-r", "expiresAt": 4_000_000_000_000}
    login = tmp_path / "login.json"
    login.write_text(json.dumps({"claudeAiOauth": {**token, "scopes": ["user:inference"]}}))
    changed = {"auth": auth, "tools": ("Bash",)}
    if auth == "login_file":
        changed |= {"login_file": login, "api_key_env": None}
    reply = asyncio.run(make(**changed).attempt(assignment("RUN: env; cat ../config/.c*")))
    assert reply.text == ANSWER
    assert provider.headers[0]["Authorization"] == f"Bearer {SECRET}"
    # An agent with a shell can read the login that it runs on; nothing of it gets further.
    assert SECRET not in repr(reply)


@pytest.mark.parametrize(
    ("simulated", "expected"),
    [
        ({"api_key": "another"}, AuthFailed),
        ({"tpm": 1, "window_s": 1.0}, RateLimited),
        ({"latency_s": 600.0}, CallTimeout),
    ],
)
def test_the_simulator_is_understood_when_it_says_no(made, root, simulated, expected):
    make, _ = made
    with running(SimulatorOptions(**simulated)) as server:
        timeout_s = 4.0 if expected is CallTimeout else 60.0
        agent = make(base_url=server.root_url, timeout_s=timeout_s)
        with pytest.raises(expected):
            asyncio.run(agent.complete([Message(role="user", content="U")]))
    assert leftovers(root) == [] and running_in(root) == []


def test_a_reply_of_a_given_form_is_asked_for_where_the_program_can(made):
    make, provider = made
    body = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    schema = ReplySchema(name="planted", body={**body, "additionalProperties": False})
    agent = make()
    reply = asyncio.run(agent.complete([Message(role="user", content="U")], schema=schema))
    assert reply.text
    offered = json.dumps(provider.requests)
    assert ('"a"' in offered) == (agent._options.program != "copilot")


def test_the_program_tells_its_version(made):
    make, _ = made
    assert VERSION.fullmatch(asyncio.run(make().version()))
