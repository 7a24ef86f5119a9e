"""Whether an agent program can reach the tools of its tasks."""

from __future__ import annotations

from collections.abc import Iterable

from skillopt.config.origins import Origin
from skillopt.domain.agent import hidden_tools
from skillopt.domain.backend import Backend
from skillopt.domain.item import Item
from skillopt.errors import TaskError


def check_agent_tools(items: Iterable[Item], target: Backend, where: Origin) -> None:
    """Refuse tasks with tools for a program that is kept from them: none would get a score."""
    why = hidden_tools(target.agent) if target.agent else None
    named = [item.id for item in items if item.prompt.tools] if why else []
    if named:
        more = f" and {len(named) - 1} more" if len(named) > 1 else ""
        raise TaskError(
            f"{where}: tasks: task {named[0]!r}{more} cannot be done by backend {target.name!r}: "
            f"{why}"
        )
