"""The part of an entry that says how an agent program is run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from skillopt.config.entry_checks import Fault, check_key_variable, check_url
from skillopt.config.entry_models import AgentEntry
from skillopt.config.origins import KeyPath, Origin
from skillopt.domain.agent import (
    DEFAULT_SANDBOX,
    AgentAccess,
    AgentAuth,
    AgentProgramName,
    agent_problems,
)
from skillopt.domain.backend import AGENT_KINDS, BackendKind, Limits
from skillopt.domain.fingerprint import short, text_hash
from skillopt.domain.hosts import is_loopback, may_have_anthropic_key, may_have_openai_key
from skillopt.programs.version import VERSION

#: The variable of a key or token, if the entry names none.
VARIABLES: dict[tuple[AgentProgramName, AgentAuth], str] = {
    ("claude", "api_key"): "ANTHROPIC_API_KEY",
    ("claude", "oauth_token"): "CLAUDE_CODE_OAUTH_TOKEN",
    ("codex", "api_key"): "OPENAI_API_KEY",
    ("copilot", "api_key"): "COPILOT_PROVIDER_API_KEY",
    ("copilot", "oauth_token"): "COPILOT_GITHUB_TOKEN",
}
#: Where a program keeps the login that a person made with it.
LOGIN_FILES: dict[AgentProgramName, str] = {
    "claude": "~/.claude/.credentials.json",
    "codex": "~/.codex/auth.json",
}
_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9_:*()./ -]*\Z")


@dataclass(frozen=True)
class AgentParts:
    """What a backend of an agent program is made of, besides what every backend has."""

    agent: AgentAccess
    base_url: str | None
    key_variable: str | None
    revision: str
    limits: Limits
    #: Whether calls cost no money of their own.
    subscription: bool


def read_agent(
    kind: BackendKind, entry: AgentEntry, where: Origin, fault: Fault
) -> AgentParts | None:
    """Read how a program is run; None if there are faults in it. Paths start from `where`."""
    faults: list[KeyPath] = []

    def report(at: KeyPath, text: str) -> None:
        faults.append(at)
        fault(at, text)

    program = AGENT_KINDS[kind]
    auth = _auth(program, entry)
    base_url = None if entry.base_url is None else entry.base_url.rstrip("/")
    agent = AgentAccess(
        program=program,
        executable=_executable(entry.executable, where),
        auth=auth,
        login_file=_login_file(program, auth, entry, where),
        skill_delivery=entry.skill_delivery,
        tools=None if entry.tools is None else tuple(entry.tools),
        max_turns=entry.max_turns,
        sandbox=entry.sandbox or (DEFAULT_SANDBOX if program == "codex" else None),
        network=entry.network,
        web_search=entry.web_search,
        effort=entry.effort,
        version=entry.version or "",
    )
    variable = entry.api_key_env
    if variable is None and auth != "login_file":
        variable = VARIABLES.get((program, auth))
    _check_words(entry, auth, report)
    for key, text in agent_problems(agent, model=entry.model, base_url=base_url):
        report((key,), text)
    if base_url is not None:
        _check_url(base_url, agent, entry, variable, report)
    if faults:
        return None
    return AgentParts(
        agent=agent,
        base_url=base_url,
        key_variable=variable,
        revision=short(text_hash(base_url)) if base_url else "",
        limits=_limits(entry, auth),
        subscription=auth != "api_key",
    )


def _auth(program: AgentProgramName, entry: AgentEntry) -> AgentAuth:
    if entry.auth is not None:
        return entry.auth
    if entry.login_file is not None:
        return "login_file"
    return "oauth_token" if program == "copilot" and entry.base_url is None else "api_key"


def _executable(written: str | None, where: Origin) -> str | None:
    """Give a path as it was meant; a bare name is looked up on the worker's PATH."""
    if written is None or not ("/" in written or written.startswith("~")):
        return written
    return str(where.path(written))


def _login_file(
    program: AgentProgramName, auth: AgentAuth, entry: AgentEntry, where: Origin
) -> Path | None:
    if auth != "login_file":
        return None
    written = entry.login_file or LOGIN_FILES.get(program)
    return None if written is None else where.path(written)


def _limits(entry: AgentEntry, auth: AgentAuth) -> Limits:
    """A login file is lent to one run at a time: more calls would only wait for each other."""
    if auth != "login_file" or entry.limits.concurrency is not None:
        return entry.limits
    return entry.limits.model_copy(update={"concurrency": 1, "min_concurrency": 1})


def _check_words(entry: AgentEntry, auth: AgentAuth, report: Fault) -> None:
    if "params" in entry.model_fields_set:
        report(
            ("params",),
            "is not for agent programs, which take no request parameters; remove it, and choose "
            "with effort, or use a backend of another kind",
        )
    check_key_variable(entry.api_key_env, report)
    for key, used_by in (
        ("api_key_env", auth != "login_file"),
        ("login_file", auth == "login_file"),
    ):
        if getattr(entry, key) is not None and not used_by:
            report((key,), f"is not used with auth {auth!r}; remove it, or change auth")
    if entry.version is not None and not VERSION.fullmatch(entry.version):
        report(
            ("version",),
            f"{entry.version!r} is not a version; write it as the program prints it, like '2.1.3'",
        )
    for place, tool in enumerate(entry.tools or ()):
        if not _TOOL.match(tool):
            report(("tools", place), f"{tool!r} is not the name of a tool; write one like 'Bash'")


def _check_url(
    url: str, agent: AgentAccess, entry: AgentEntry, variable: str | None, report: Fault
) -> None:
    what = f"the key of {variable!r}" if variable else "a login"
    host = check_url(url, report, sends=what, encrypt="use https")
    if host is None or is_loopback(host):
        return
    if agent.auth != "api_key":
        report(
            ("base_url",),
            f"would send a login to {urlsplit(url).hostname!r}, which is not its vendor; remove "
            "it, or use auth: api_key",
        )
    elif entry.api_key_env is None and not _is_vendor(agent.program, url):
        report(
            ("base_url",),
            f"would send the key of {variable!r} to {host!r}; name the variable of that server's "
            "key as api_key_env",
        )


def _is_vendor(program: AgentProgramName, url: str) -> bool:
    rules = {"claude": may_have_anthropic_key, "codex": may_have_openai_key}
    return program in rules and rules[program](url, ())
