"""Setting texts apart in a prompt by marks that no text within can forge."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.domain.fingerprint import digest

_KEY_CHARS = 16


class Blocks:
    """Wraps the texts of one prompt.

    The marks hold a key that follows from all these texts together: a text would have to contain
    a part of its own hash to end its block. The same texts always give the same marks.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        number = 0
        while any((key := _key(texts, number)) in text for text in texts):
            number += 1
        self._key = key

    def wrap(self, name: str, text: str) -> str:
        return f"<{name}-{self._key}>\n{text}\n</{name}-{self._key}>"


def _key(texts: Sequence[str], number: int) -> str:
    return digest([number, *texts])[:_KEY_CHARS]
