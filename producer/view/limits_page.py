"""The limits of one backend after somebody changed them."""

from __future__ import annotations

from rich.console import RenderableType

from producer.queue.models import BackendRow
from producer.view.printable import safe


def limits_page(row: BackendRow) -> list[RenderableType]:
    """Say what is in force, and which of it was set over the catalogue's."""
    in_force = [
        f"{name} {value:,g}{' (set)' if row.set_limits.get(name) is not None else ''}"
        for name, value in row.limits.items()
        if value is not None
    ]
    words = ", ".join(in_force) or "no limit"
    return [safe(f"{row.name}: {words}; for all workers, within seconds")]
