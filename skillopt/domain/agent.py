"""An agent program as the catalogue describes it, and which of its options that program can do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

AgentProgramName = Literal["claude", "codex", "copilot"]
AgentAuth = Literal["api_key", "oauth_token", "login_file"]
SkillDelivery = Literal["prompt", "file", "native"]
Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]
Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]

#: What lies in the working folder of every task: its text, the skill, its tools as commands.
TASK_FILE, SKILL_FOLDER, TOOL_FOLDER = "task.md", "skill", "tools"
#: Names that no file of a task may have there, in lower case; one called SKILL.md would pass for
#: the skill.
TAKEN_NAMES = frozenset({TASK_FILE, SKILL_FOLDER, TOOL_FOLDER, "skill.md"})

#: The sandbox of a program that has one, if nobody chooses.
DEFAULT_SANDBOX: Sandbox = "workspace-write"

#: Efforts that a program does not have.
_MISSING_EFFORTS: dict[AgentProgramName, frozenset[str]] = {
    "claude": frozenset({"minimal"}),
    "codex": frozenset({"max"}),
    "copilot": frozenset(),
}
#: Where and how a program is started; nothing of it changes what the program answers.
_NOT_IN_FINGERPRINT = {"executable", "auth", "login_file"}


class AgentAccess(BaseModel):
    """How one agent program is started, and what it may do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: AgentProgramName
    #: A path or a name on PATH; None means the program's usual name.
    executable: str | None = Field(default=None, min_length=1)
    auth: AgentAuth = "api_key"
    login_file: Path | None = None
    skill_delivery: SkillDelivery = "prompt"
    #: The program's own tools; None means those that the skill's delivery and the task need.
    tools: tuple[str, ...] | None = None
    max_turns: int | None = Field(default=None, ge=1)
    #: None: the program has no sandbox.
    sandbox: Sandbox | None = None
    network: bool = False
    web_search: bool = False
    effort: Effort | None = None
    #: The version of the program; "" until somebody has asked it.
    version: str = ""

    @property
    def command(self) -> str:
        return self.executable or self.program

    @property
    def shaping(self) -> dict[str, Any]:
        """Everything of it that can change an answer."""
        return self.model_dump(mode="json", exclude=_NOT_IN_FINGERPRINT)


def agent_problems(
    agent: AgentAccess, *, model: str | None, base_url: str | None
) -> Iterator[tuple[str, str]]:
    """Give each option that the program cannot honour: its key, and what is wrong with the fix."""
    yield from _auth_problems(agent, base_url)
    program = agent.program
    if agent.max_turns is not None and program != "claude":
        yield "max_turns", f"{agent.max_turns!r}: {program} has no limit of turns; remove it"
    if agent.effort in _MISSING_EFFORTS[program]:
        yield "effort", f"{agent.effort!r}: {program} has no such effort; choose another"
    if program != "codex" and agent.sandbox is not None:
        yield "sandbox", f"{agent.sandbox!r}: {program} has no sandbox of its own; remove it"
    if agent.network and (program != "codex" or agent.sandbox not in (None, DEFAULT_SANDBOX)):
        yield (
            "network",
            "True: it opens codex's sandbox 'workspace-write' and nothing else; remove it",
        )
    if program == "copilot" and agent.web_search:
        yield "web_search", "True: copilot has none; remove it"
    if program == "codex" and agent.tools is not None:
        yield "tools", f"{list(agent.tools)!r}: codex has a fixed set of tools; remove them"
    if program == "copilot" and model is None and base_url is not None:
        yield "model", "is missing; copilot needs one for a provider of your own, give model"


def _auth_problems(agent: AgentAccess, base_url: str | None) -> Iterator[tuple[str, str]]:
    program, auth = agent.program, agent.auth
    if program == "codex" and auth == "oauth_token":
        yield "auth", f"{auth!r}: codex takes no such token; use api_key or login_file"
    elif program == "copilot" and auth == "login_file":
        yield "auth", f"{auth!r}: copilot keeps no login in a file; use oauth_token or api_key"
    elif program == "copilot" and auth == "api_key" and base_url is None:
        yield (
            "auth",
            f"{auth!r}: copilot uses a key only for a provider of your own; give base_url, or use "
            "oauth_token",
        )
    elif base_url is not None and (program, auth) in _ONLY_TO_ITS_VENDOR:
        yield "auth", f"{auth!r}: {program} sends it only to its vendor; remove base_url"


_ONLY_TO_ITS_VENDOR = {("codex", "login_file"), ("copilot", "oauth_token")}

#: The tool by which a program runs commands, if its own tools can be chosen.
_SHELLS: dict[AgentProgramName, str] = {"claude": "Bash", "copilot": "bash"}


def hidden_tools(agent: AgentAccess) -> str | None:
    """Say why the program cannot reach a task's tools, with the fix; None if it can."""
    sandbox = agent.sandbox or DEFAULT_SANDBOX
    reachable = sandbox == "danger-full-access" or (sandbox == "workspace-write" and agent.network)
    if agent.program == "codex" and not reachable:
        return (
            "codex's sandbox lets no command reach the task's tools; set network: true with "
            "sandbox workspace-write, or use another backend"
        )
    shell = _SHELLS.get(agent.program)
    if shell and agent.tools is not None and shell not in agent.tools:
        return f"the task's tools are commands; add {shell!r} to the backend's tools"
    return None
