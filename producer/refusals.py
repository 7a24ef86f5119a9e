"""A budget that refuses a call, in words that say what to do about it."""

from __future__ import annotations

from skillopt.state.ports import Refusal

_AGAIN = "give the same command again"


def refusal_words(refused: Refusal) -> str:
    """Name whose cap it is, and how to raise it."""
    if refused.scope.kind == "run":
        return f"the next call does not fit into budget.max_{refused.cap}; raise it and {_AGAIN}"
    option = f"--max-{refused.cap}"
    return (
        f"the next call does not fit into what {refused.scope.kind} {refused.scope.name!r} may "
        f"spend over all runs ({option}); raise it with `skillopt budget set {refused.scope} "
        f"{option} …` and {_AGAIN}"
    )
