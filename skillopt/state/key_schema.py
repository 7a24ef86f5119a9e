"""One row of the key table: what a key is called, holds and lives for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

RedisType = Literal["string", "hash", "set", "zset", "stream"]


@dataclass(frozen=True)
class Key:
    """One row of the key schema. `ttl` is a field of `Timing`, or RUN, SHARED, GIVEN of `keys`."""

    pattern: str
    type: RedisType
    ttl: str
    writer: str
    reader: str
    meaning: str

    def matches(self, key: str) -> bool:
        return _regex(self.pattern).fullmatch(key) is not None


def _regex(pattern: str) -> re.Pattern[str]:
    """A `<name>` stands for one part without colons, a final `<name…>` for all that is left."""
    parts = re.split(r"(<[^>]+>)", pattern)
    return re.compile(
        "".join(
            (".+" if part.endswith("…>") else "[^:]+") if part.startswith("<") else re.escape(part)
            for part in parts
        )
    )
