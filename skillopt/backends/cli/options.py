"""Everything a run of an agent program depends on: the catalogue's entry, put together."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import Field, model_validator

from skillopt.domain.agent import AgentAccess, agent_problems
from skillopt.domain.backend import Backend
from skillopt.domain.hosts import is_loopback


class CliOptions(AgentAccess):
    """How one agent program is run; a combination that it cannot honour is refused."""

    #: None leaves the choice to the program.
    model: str | None = Field(default=None, min_length=1)
    #: The variable of the worker's environment that holds the key or token.
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    #: Where requests go instead of the vendor's own service.
    base_url: str | None = None
    timeout_s: float = Field(default=600.0, gt=0, le=86_400)

    @classmethod
    def of(cls, backend: Backend) -> CliOptions:
        """Give the options of a backend; raises ValueError if it is none of an agent program."""
        if backend.agent is None:
            raise ValueError(f"backend {backend.name!r} has no agent program")
        return cls(
            **backend.agent.model_dump(),
            model=backend.model or None,
            api_key_env=backend.api_key_env,
            base_url=backend.base_url,
            timeout_s=backend.timeout_s,
        )

    @model_validator(mode="after")
    def _program_can_do_it(self) -> CliOptions:
        found = agent_problems(self, model=self.model, base_url=self.base_url)
        problems = [f"{key}: {text}" for key, text in found]
        problems += self._credential_problems()
        if self.base_url is not None:
            problems += self._url_problems(self.base_url)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _credential_problems(self) -> list[str]:
        if self.auth == "login_file" and self.login_file is None:
            return ["auth 'login_file' needs login_file, the path of the login to use"]
        if self.auth != "login_file" and self.api_key_env is None:
            return [f"auth {self.auth!r} needs api_key_env, the name of the variable with it"]
        return []

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
        if is_loopback(host):
            return []
        if parts.scheme == "http":
            return [f"base_url would send the credential unencrypted to {host!r}; use https"]
        if self.auth != "api_key":
            return [f"a login goes only to its vendor, not to {host!r}; use auth 'api_key'"]
        return []
