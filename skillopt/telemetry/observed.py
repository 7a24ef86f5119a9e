"""Looking on while a port is used: figures and log lines without a word in the code they are of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

P = TypeVar("P")

#: Is given the operation and its arguments, and gives what the operation gave.
Around = Callable[..., Any]


class _Observed:
    def __init__(self, port: object, around: dict[str, Around]) -> None:
        self._port = port
        self._around = around

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any operation of any port
        operation, around = getattr(self._port, name), self._around.get(name)
        if around is None:
            return operation

        def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - as the operation
            return around(operation, *args, **named)

        return call


def observed(port: P, **around: Around) -> P:
    """Give a port of which some operations, by name, are called by way of `around`."""
    unknown = [name for name in around if not hasattr(port, name)]
    if unknown:
        raise ValueError(f"{type(port).__name__} has no operation {', '.join(unknown)}")
    return cast(P, _Observed(port, around))
