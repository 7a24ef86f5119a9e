"""Numbers as people read them. What was not measured is a dash, what has no price says so."""

from __future__ import annotations

#: Shown where a value was not measured.
UNKNOWN = "-"
NOT_PRICED = "not priced"


def score(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3f}"


def share(value: float | None) -> str:
    """Show a share of one as a percentage, never rounded up to a whole it is not."""
    if value is None:
        return UNKNOWN
    return "100%" if value >= 1 else f"{min(value, 0.999):.1%}".replace(".0%", "%")


def count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def plural(value: int, one: str, many: str | None = None) -> str:
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def dollars(value: float | None) -> str:
    """Show money; None means that at least one model has no price."""
    if value is None:
        return NOT_PRICED
    if value == 0:
        return "$0"
    return f"${value:.4f}" if value < 1 else f"${value:,.2f}"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
