"""Two adapters as one: every call goes to both, and their answers must be equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, cast

from state_adapters import Adapter

from skillopt.errors import StateError
from skillopt.state.ports import Claim, LogEntry, State, WantAnswer


class Twin:
    """One port of two adapters."""

    def __init__(self, first: object, second: object) -> None:
        self._ports = (first, second)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: object, **kwargs: object) -> object:
            first, second = (_outcome(getattr(port, name), args, kwargs) for port in self._ports)
            assert _timeless(first) == _timeless(second), f"{name}{args}{kwargs}"
            if isinstance(first, StateError):
                raise first
            return first

        return call


def twin_adapter(first: Adapter, second: Adapter) -> Adapter:
    def advance(seconds: float) -> None:
        first.advance(seconds)
        second.advance(seconds)

    ports = (field.name for field in fields(State))
    twins = {port: Twin(getattr(first.state, port), getattr(second.state, port)) for port in ports}
    return Adapter(State(**cast(dict[str, Any], twins)), advance, first.timing)


def _outcome(call: Callable[..., Any], args: Any, kwargs: Any) -> object:
    try:
        return call(*args, **kwargs)
    except StateError as error:
        return error


def _timeless(answer: object) -> object:
    """Leave out the moments: the clocks of two adapters are never quite the same."""
    if isinstance(answer, StateError):
        return type(answer), str(answer)
    if isinstance(answer, list):
        return [_timeless(one) for one in answer]
    if isinstance(answer, WantAnswer):
        return replace(answer, delay_s=round(answer.delay_s))
    if isinstance(answer, Claim) and answer.waited_s is not None:
        return replace(answer, waited_s=round(answer.waited_s))
    if isinstance(answer, LogEntry):
        return replace(answer, at=0)
    return answer
