"""Ways in which something stored or sent can be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

#: Deeper than any parser of JSON goes.
DEEP = 20_000


def _truncated(value: bytes) -> bytes:
    return value[: len(value) // 2]


def _changed(value: bytes, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    """Change a JSON object; anything else is replaced."""
    try:
        found = json.loads(value)
    except ValueError:
        return b'{"version": 99}'
    return json.dumps(change(found) if isinstance(found, dict) else [found]).encode()


def _of_wrong_types(found: dict[str, Any]) -> dict[str, Any]:
    return {name: [value] if not isinstance(value, list) else "x" for name, value in found.items()}


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": _truncated,
    "empty": lambda value: b"",
    "newer": lambda value: _changed(value, lambda found: {**found, "from_the_future": 1}),
    "lacking": lambda value: _changed(value, lambda found: dict(list(found.items())[1:])),
    "wrong types": lambda value: _changed(value, _of_wrong_types),
    "foreign": lambda value: b'{"error": {"code": 404, "message": "not found"}}',
    "no object": lambda value: b"[1, 2, 3]",
    "not UTF-8": lambda value: value[:1] + b"\xff\xfe\x80" + value[1:],
    "deep": lambda value: b"[" * DEEP,
    "deep and whole": lambda value: b'{"type":' * DEEP + b"1" + b"}" * DEEP,
    "huge": lambda value: value + b"x" * 300_000,
    "a huge number": lambda value: b"9" * 10_000,
    "not a number": lambda value: b"NaN",
    "zeros": lambda value: bytes(len(value)),
}

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["rollout", "judge", "scored", "run_created", "gated", "a" * 64, 1, ""])
)


def json_like(names: list[str]) -> st.SearchStrategy[Any]:
    """Anything that JSON can say, with a liking for names that mean something."""
    keys = st.sampled_from(names) | st.text(max_size=8)
    return st.recursive(
        _LEAVES,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
        max_leaves=12,
    )


def mangled(samples: list[bytes], names: list[str]) -> st.SearchStrategy[bytes]:
    """Bytes of any origin: damaged samples, samples with other values in, and anything else."""
    named = st.tuples(st.sampled_from(samples), st.sampled_from(list(DAMAGES.values())))
    cut = st.tuples(st.sampled_from(samples), st.integers(0, 400), st.binary(max_size=6))
    other = st.tuples(
        st.sampled_from(samples), st.dictionaries(st.sampled_from(names), json_like(names))
    )
    return (
        named.map(lambda pair: pair[1](pair[0]))
        | cut.map(lambda part: part[0][: part[1]] + part[2] + part[0][part[1] + 1 :])
        | other.map(lambda pair: _changed(pair[0], lambda found: {**found, **pair[1]}))
        | json_like(names).map(lambda value: json.dumps(value).encode())
        | st.binary(max_size=200)
    )
