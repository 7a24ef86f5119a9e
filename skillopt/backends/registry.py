"""From a catalogue entry to a live backend: each kind is an entry point.

A kind is a function `(backend, environ) -> ChatBackend` in the group `skillopt.backends`, under
its name. The kinds of this package are known without it too, so that they also work from a
checkout that was never installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol, cast

from skillopt.backends.base import ChatBackend
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError

GROUP = "skillopt.backends"

#: What the package declares for itself; modules are loaded when a backend of the kind is opened.
BUILT_IN: Mapping[str, str] = {
    "anthropic_messages": "skillopt.backends.anthropic_messages:open_messages",
    "azure_chat": "skillopt.backends.openai_kinds:open_azure_chat",
    "azure_responses": "skillopt.backends.openai_kinds:open_azure_responses",
    "claude_cli": "skillopt.backends.cli.kinds:open_agent",
    "codex_cli": "skillopt.backends.cli.kinds:open_agent",
    "copilot_cli": "skillopt.backends.cli.kinds:open_agent",
    "openai_chat": "skillopt.backends.openai_kinds:open_chat",
    "openai_compatible": "skillopt.backends.openai_kinds:open_chat",
    "openai_responses": "skillopt.backends.openai_kinds:open_responses",
    "simulated": "skillopt.backends.openai_kinds:open_chat",
}


class OpenKind(Protocol):
    """Connects to a backend of one kind; reads its keys from `environ` and keeps them."""

    def __call__(self, backend: Backend, environ: Mapping[str, str], /) -> ChatBackend: ...


def open_backend(backend: Backend, environ: Mapping[str, str]) -> ChatBackend:
    """Connect to a backend; raises ConfigError if it cannot be, as it is described."""
    declared = {point.value: point for point in entry_points(group=GROUP, name=backend.kind)}
    if len(declared) > 1:
        raise ConfigError(
            f"backend {backend.name!r}: the kind {backend.kind!r} is declared more than once in "
            f"{GROUP!r}: {', '.join(sorted(declared))}; uninstall all but one"
        )
    value = next(iter(declared), BUILT_IN.get(backend.kind))
    if value is None:
        raise ConfigError(
            f"backend {backend.name!r}: nothing installed here serves the kind {backend.kind!r}; "
            "install the package that does"
        )
    opened = cast("OpenKind", EntryPoint(backend.kind, value, GROUP).load())
    return opened(backend, environ)
