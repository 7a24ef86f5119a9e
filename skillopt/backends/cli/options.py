"""What a person may say about an agent program, and which of it that program can do."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

ProgramName = Literal["claude", "codex", "copilot"]
Auth = Literal["api_key", "oauth_token", "login_file"]
SkillDelivery = Literal["prompt", "file", "native"]
Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]
Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]

#: Efforts that a program does not have.
_MISSING_EFFORTS: dict[ProgramName, frozenset[str]] = {
    "claude": frozenset({"minimal"}),
    "codex": frozenset({"max"}),
    "copilot": frozenset(),
}


class CliOptions(BaseModel):
    """How one agent program is run; a combination that it cannot honour is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: ProgramName
    #: None leaves the choice to the program.
    model: str | None = Field(default=None, min_length=1)
    #: A path or a name on PATH; None means the program's usual name.
    executable: str | None = Field(default=None, min_length=1)
    auth: Auth = "api_key"
    #: The variable of the worker's environment that holds the key or token.
    credential_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    login_file: Path | None = None
    #: Where requests go instead of the vendor's own service.
    base_url: str | None = None
    skill_delivery: SkillDelivery = "prompt"
    #: The program's own tools; None means those that the skill's delivery and the task need.
    tools: tuple[str, ...] | None = None
    max_turns: int | None = Field(default=None, ge=1)
    sandbox: Sandbox = "workspace-write"
    network: bool = False
    web_search: bool = False
    effort: Effort | None = None
    timeout_s: float = Field(default=600.0, gt=0, le=86_400)

    @model_validator(mode="after")
    def _program_can_do_it(self) -> CliOptions:
        problems = [*self._auth_problems(), *self._feature_problems()]
        if self.base_url is not None:
            problems += self._url_problems(self.base_url)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _auth_problems(self) -> list[str]:
        if self.auth == "login_file" and self.login_file is None:
            return ["auth 'login_file' needs login_file, the path of the login to use"]
        if self.auth != "login_file" and self.credential_env is None:
            return [f"auth {self.auth!r} needs credential_env, the name of the variable with it"]
        if self.program == "codex" and self.auth == "oauth_token":
            return ["codex takes no 'oauth_token'; use auth 'api_key' or 'login_file'"]
        if self.program == "codex" and self.auth == "login_file" and self.base_url is not None:
            return ["codex sends its login only to its vendor; remove base_url"]
        if self.program == "copilot" and self.auth == "login_file":
            return ["copilot keeps no login in a file; use auth 'oauth_token' or 'api_key'"]
        if self.program == "copilot" and self.auth == "api_key" and self.base_url is None:
            return ["copilot uses an 'api_key' only for an own provider; give its base_url"]
        if self.program == "copilot" and self.auth == "oauth_token" and self.base_url is not None:
            return ["copilot sends its 'oauth_token' only to its vendor; remove base_url"]
        return []

    def _feature_problems(self) -> list[str]:
        problems = []
        if self.max_turns is not None and self.program != "claude":
            problems.append(f"{self.program} has no limit of turns; remove max_turns")
        if self.effort in _MISSING_EFFORTS[self.program]:
            problems.append(f"{self.program} has no effort {self.effort!r}; choose another")
        if self.program != "codex" and (self.network or "sandbox" in self.model_fields_set):
            problems.append(f"{self.program} has no sandbox of its own; remove sandbox and network")
        if self.program == "copilot" and self.web_search:
            problems.append("copilot has no web_search; remove it")
        if self.program == "codex" and self.tools is not None:
            problems.append("codex has a fixed set of tools; remove tools")
        if self.program == "copilot" and self.model is None and self.base_url is not None:
            problems.append("copilot needs a model for an own provider; give model")
        return problems

    def _url_problems(self, url: str) -> list[str]:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if host is None or parts.scheme not in ("http", "https"):
            return ["base_url is not a URL; write it like https://host or http://127.0.0.1:8000"]
        if parts.username or parts.password or parts.query or parts.fragment:
            return ["base_url holds more than scheme, host, port and path; remove the rest"]
        if _is_loopback(host):
            return []
        if parts.scheme == "http":
            return [f"base_url would send the credential unencrypted to {host!r}; use https"]
        if self.auth != "api_key":
            return [f"a login goes only to its vendor, not to {host!r}; use auth 'api_key'"]
        return []


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
