"""What runs want of each backend, in Redis."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import redis
from pydantic import TypeAdapter, ValidationError

from skillopt.errors import StateCorrupt
from skillopt.state import keys
from skillopt.state.ports import Demand
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, json_object, text
from skillopt.state.redis.scripts import Limits, Scripts

_DEMAND: TypeAdapter[Demand] = TypeAdapter(Demand)
_REPORTED = ("run", "owner", "wanted", "weight", "window")


class RedisShares:
    """Script demand."""

    def __init__(self, client: redis.Redis, scripts: Scripts, limits: Limits) -> None:
        self._client = client
        self._scripts = scripts
        self._limits = limits

    def report(self, backend: str, demand: Demand) -> list[Demand]:
        said = asdict(demand)
        return self._call(backend, demand.run, json.dumps({name: said[name] for name in _REPORTED}))

    def withdraw(self, backend: str, run: str) -> None:
        with translated():
            self._client.hdel(keys.share(backend), run)

    def demands(self, backend: str) -> list[Demand]:
        return self._call(backend, "", "")

    def _call(self, backend: str, run: str, demand: str) -> list[Demand]:
        reply = self._scripts.call(
            "demand", (keys.share(backend),), (keys.QUOTA_PREFIX, self._limits.demand, run, demand)
        )
        known = [(row[2], _demand(backend, row)) for row in reply]
        return [demand for _, demand in sorted(known, key=lambda one: (one[0], one[1].run))]


def _demand(backend: str, row: list[Any]) -> Demand:
    """Read one run's demand, as far as this version knows it."""
    run, stored, _, most = row
    what = f"what run {text(run, 'a run')!r} wants of backend {backend!r}"
    said = json_object(stored, what)
    try:
        return _DEMAND.validate_python(
            {
                **{name: said[name] for name in _REPORTED if name in said},
                "owner_window": integer(most, f"max_window beside {what}") if most else None,
            }
        )
    except ValidationError as error:
        raise StateCorrupt(f"{what} is not understood: {error.error_count()} problem(s)") from error
