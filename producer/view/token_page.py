"""Tokens of the HTTP API, for people and programs; never a token itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.view.printable import safe
from skillopt.state.ports import TokenInfo


def token_page(tokens: Sequence[TokenInfo]) -> list[RenderableType]:
    if not tokens:
        return [
            Text(
                "No token is in force. `skillopt token create NAME --role runner --owner OWNER` "
                "makes one."
            )
        ]
    table = Table(box=None, pad_edge=False)
    for column in ("name", "role", "owner", "team", "created", "ends"):
        table.add_column(column)
    for one in tokens:
        table.add_row(
            safe(one.name, "bold"),
            one.role,
            safe(one.owner),
            safe(one.team or "none"),
            _day(one.created_at),
            "when revoked" if one.expires_at is None else _day(one.expires_at),
        )
    return [table]


def token_object(info: TokenInfo) -> dict[str, Any]:
    """Give a token as a program reads it: without its hash, which helps nobody."""
    return {name: value for name, value in asdict(info).items() if name != "digest"}


def created_words(info: TokenInfo) -> str:
    team = f" of team {info.team}" if info.team else ""
    until = "" if info.expires_at is None else f", until {_day(info.expires_at)}"
    return (
        f"token {info.name}: {info.role} for {info.owner}{team}{until}. It is shown this once; "
        "use it as SKILLOPT_TOKEN:"
    )


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
