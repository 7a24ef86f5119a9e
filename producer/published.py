"""Asking backends, from where a spec is loaded, what they are."""

from __future__ import annotations

import os

from producer.embedded.simulators import behaviour_of
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError
from skillopt.programs.version import ask_version


def published_revision(backend: Backend) -> str:
    """Ask a simulator for its behaviour, an agent program of this machine for its version."""
    if backend.agent is None:
        return behaviour_of(backend)
    try:
        return ask_version(backend.agent.command, os.environ)
    except ConfigError as error:
        raise ConfigError(
            f"{error}; if only the workers have it, write the version that they have, like "
            "version: '1.2.3'"
        ) from None
