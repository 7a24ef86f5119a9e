"""How backends of the kinds `claude_cli`, `codex_cli` and `copilot_cli` are opened and known."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from skillopt.backends.base import ChatBackend
from skillopt.backends.cli.agent import CliAgent
from skillopt.backends.cli.contract import AgentBackend
from skillopt.backends.cli.options import CliOptions
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError


def open_agent(backend: Backend, environ: Mapping[str, str], /) -> CliAgent:
    """Find the program and its credential; raises ConfigError if one of them is missing."""
    try:
        options = CliOptions.of(backend)
    except ValidationError as error:
        said = "; ".join(str(details["msg"]) for details in error.errors(include_input=False))
        raise ConfigError(f"backend {backend.name!r}: {said}") from None
    try:
        return CliAgent(options, environ)
    except ConfigError as error:
        raise ConfigError(f"backend {backend.name!r}: {error}") from None


async def with_own_version(backend: Backend, chat: ChatBackend) -> Backend:
    """Give a backend as it is on this machine: with the version of the program that is here.

    Raises ConfigError if the backend wants another version: its answers would be filed under
    that one's name.
    """
    if backend.agent is None or not isinstance(chat, AgentBackend):
        return backend
    version = await chat.version()
    if backend.agent.version not in ("", version):
        raise ConfigError(
            f"backend {backend.name!r} wants version {backend.agent.version!r} of "
            f"{backend.agent.program}, but {backend.agent.command!r} is {version!r} here; install "
            f"{backend.agent.version!r}, or write version: {version!r} into the catalogue"
        )
    return backend.model_copy(
        update={"agent": backend.agent.model_copy(update={"version": version})}
    )
