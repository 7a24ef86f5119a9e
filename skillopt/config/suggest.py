"""Say what somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

#: More names than this are not read by anybody.
_LISTED = 40


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Find the known word that looks most like `word`; None if none is near."""
    by_lower = {name.lower(): name for name in known}
    matches = get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[matches[0]] if matches else None


def did_you_mean(word: str, known: Iterable[str], what: str) -> str:
    """End a sentence about an unknown word: the nearest known one, else all of them."""
    names = sorted(known)
    guess = nearest(word, names)
    if guess:
        return f"did you mean {guess!r}?"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"known {what}: {', '.join(names[:_LISTED])}{more}"
