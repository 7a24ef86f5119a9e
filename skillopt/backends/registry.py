"""From a catalogue entry to a live backend."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.backends.base import ChatBackend
from skillopt.backends.openai_chat import OpenAIChat
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError


def open_backend(backend: Backend, environ: Mapping[str, str]) -> ChatBackend:
    """Connect to a backend; its key is read here and goes nowhere else."""
    key = environ.get(backend.api_key_env) if backend.api_key_env else None
    if backend.api_key_env and not key:
        raise ConfigError(
            f"backend {backend.name!r} needs the environment variable {backend.api_key_env!r}, "
            f"which is not set; export {backend.api_key_env}=…"
        )
    if backend.kind != "openai_chat" and backend.base_url is None:
        raise ConfigError(f"backend {backend.name!r} has no base_url; give one")
    return OpenAIChat(backend, key)
