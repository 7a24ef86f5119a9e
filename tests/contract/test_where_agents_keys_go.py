"""An agent program is sent to the host that the catalogue names, and nobody else can send it on."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillopt.backends.cli.agent import CliAgent
from skillopt.backends.cli.options import CliOptions
from skillopt.backends.registry import open_backend
from skillopt.domain.agent import AgentAccess, AgentProgramName
from skillopt.domain.backend import AGENT_KINDS, Backend
from skillopt.domain.messages import Message
from skillopt.errors import CallError, ConfigError

KEY = "planted-key-0123456789abcdef"
HERE = "http://127.0.0.1:9"
ELSEWHERE = "https://evil.example.org"
PROMPT = (Message(role="user", content="Say hello."),)

#: Reports its environment and the files of its homes, and answers nothing.
_SCRIPT = """#!{python}
import json, os, pathlib, sys
if "--version" in sys.argv:
    print("9.9.9"), sys.exit(0)
sys.stdin.read()
found = {{}}
for folder in (os.environ["HOME"], os.environ.get("CODEX_HOME"), os.environ.get("COPILOT_HOME"),
               os.environ.get("CLAUDE_CONFIG_DIR"), os.getcwd()):
    for path in pathlib.Path(folder or "/nowhere").rglob("*"):
        if path.is_file():
            found[str(path)] = path.read_text(errors="replace")
report = {{"env": dict(os.environ), "argv": sys.argv, "files": found}}
pathlib.Path({report!r}).write_text(json.dumps(report))
"""

#: Variables by which somebody could send the programs elsewhere, or give them another credential.
_REDIRECTING = (
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_VERTEX_BASE_URL",
    "CODEX_HOME",
    "COPILOT_API_URL",
    "COPILOT_PROVIDER_BASE_URL",
    "GH_HOST",
    "OPENAI_BASE_URL",
)

every_program = pytest.mark.parametrize("program", ["claude", "codex", "copilot"])


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder for workspaces; the path of a socket in it must stay short."""
    folder = Path(tempfile.mkdtemp(prefix="so-"))
    yield folder
    shutil.rmtree(folder)


def backend(program: AgentProgramName, url: str | None, **access: Any) -> Backend:
    kind = next(kind for kind, name in AGENT_KINDS.items() if name == program)
    agent = AgentAccess(program=program, **{"executable": "/nowhere", **access})
    variable = None if agent.auth == "login_file" else "PLANTED_KEY"
    return Backend(name="b", kind=kind, model="m", base_url=url, api_key_env=variable, agent=agent)


def seen_by(program: AgentProgramName, url: str | None, root: Path, **access: Any) -> Any:
    """Let a program run once; gives what it could see."""
    path, report = root / program, root / "report"
    path.write_text(_SCRIPT.format(python=sys.executable, report=str(report)))
    path.chmod(0o755)
    options = CliOptions.of(backend(program, url, executable=str(path), **access))
    environ = {"PATH": "/usr/bin:/bin", "PLANTED_KEY": KEY, "OTHER_KEY": "planted-other-key-012345"}
    agent = CliAgent(options, environ | dict.fromkeys(_REDIRECTING, ELSEWHERE), root / "w")
    with pytest.raises(CallError):
        asyncio.run(agent.complete(PROMPT))
    return json.loads(report.read_text())


@every_program
def test_no_key_travels_unencrypted_to_another_machine(program: AgentProgramName) -> None:
    with pytest.raises(ConfigError, match=r"unencrypted to 'llm\.example\.org'; use https") as told:
        open_backend(backend(program, "http://llm.example.org"), {"PLANTED_KEY": KEY})
    assert KEY not in str(told.value)


@pytest.mark.parametrize(
    ("program", "auth"),
    [
        ("claude", "oauth_token"),
        ("claude", "login_file"),
        ("codex", "login_file"),
        ("copilot", "oauth_token"),
    ],
)
@pytest.mark.parametrize(
    "host", ["llm.example.org", "api.anthropic.com.example.org", "xapi.openai.com"]
)
def test_a_login_goes_to_its_vendor_only(
    program: AgentProgramName, auth: str, host: str, tmp_path: Path
) -> None:
    login = {"login_file": tmp_path / "login"} if auth == "login_file" else {}
    wanted = backend(program, f"https://{host}", auth=auth, **login)
    with pytest.raises(ConfigError, match="only to its vendor"):
        open_backend(wanted, {"PLANTED_KEY": KEY})


@every_program
def test_a_key_goes_to_the_named_server_whatever_the_environment_says(
    program: AgentProgramName, root: Path
) -> None:
    seen = seen_by(program, HERE, root)
    told = json.dumps([seen["env"], seen["files"]])
    addresses = set(re.findall(r"https?://[\w.:-]+", told))
    assert addresses == {HERE}
    assert "planted-other" not in json.dumps(seen)
    assert KEY not in json.dumps(seen["argv"])


@pytest.mark.parametrize(
    ("program", "auth"), [("claude", "api_key"), ("codex", "api_key"), ("copilot", "oauth_token")]
)
def test_without_a_server_of_its_own_a_program_asks_its_vendor(
    program: AgentProgramName, auth: str, root: Path
) -> None:
    seen = seen_by(program, None, root, auth=auth)
    assert "http" not in json.dumps([seen["env"], seen["files"]])
    assert "planted-other" not in json.dumps(seen)


@every_program
@pytest.mark.parametrize("key", ["planted\nkey-0123", "planted\r\nX-Evil: 1", "ключ"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(
    program: AgentProgramName, key: str
) -> None:
    wanted = backend(program, HERE, executable=sys.executable)
    with pytest.raises(ConfigError, match="'PLANTED_KEY' holds characters") as caught:
        open_backend(wanted, {"PLANTED_KEY": key})
    assert key not in str(caught.value)
