"""Budgets: reserved before a call, settled after it, in Redis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

import redis

from skillopt.domain.timing import DAY_S
from skillopt.domain.usage import ROLES, Role
from skillopt.errors import StateCorrupt
from skillopt.state import keys
from skillopt.state.ports import Amount, Cap, Caps, Refusal, Scope, SharedBudget, Spend
from skillopt.state.ports.budgets import ScopeKind
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text
from skillopt.state.redis.scripts import Limits, Scripts, chunks, milliseconds

_FIELD_OF_CAP: Final[dict[Cap, str]] = {
    "calls": "cap_calls",
    "tokens": "cap_tokens",
    "usd": "cap_micro_usd",
}


class RedisBudgets:
    """Scripts reserve, extend, settle and spend."""

    def __init__(self, client: redis.Redis, scripts: Scripts, limits: Limits) -> None:
        self._client = client
        self._scripts = scripts
        self._limits = limits
        #: Where scripts count what is spent on a day.
        self._book = (keys.SPENDING_PREFIX, milliseconds(DAY_S), limits.spending_ttl)

    def set_caps(self, run: str, caps: Caps) -> None:
        with translated():
            self._client.hset(
                keys.meter(run),
                mapping={
                    "cap_calls": _cap(caps.calls),
                    "cap_tokens": _cap(caps.tokens),
                    "cap_micro_usd": _cap(caps.micro_usd),
                    "refused": "",
                },
            )

    def join(self, run: str, *, owner: str = "", team: str = "") -> None:
        scopes = [f"{kind}:{name}" for kind, name in (("owner", owner), ("team", team)) if name]
        with translated(), self._client.pipeline() as pipeline:
            if scopes:
                pipeline.sadd(keys.BUDGETS, *scopes)
            pipeline.hset(keys.meter(run), mapping={"owner": owner, "team": team})
            pipeline.execute()

    def set_shared_caps(self, scope: Scope, changes: Mapping[Cap, int | None]) -> None:
        meter, _, _ = keys.shared_account(scope.kind, scope.name)
        with translated(), self._client.pipeline() as pipeline:
            pipeline.sadd(keys.BUDGETS, str(scope))
            for cap, limit in changes.items():
                pipeline.hset(meter, _FIELD_OF_CAP[cap], _cap(limit))
            pipeline.execute()

    def shared(self) -> list[SharedBudget]:
        with translated():
            # The client also types the answers of pipelines and of asyncio.
            names: Any = self._client.smembers(keys.BUDGETS)
        scopes = sorted(_scope(text(name, f"a name in {keys.BUDGETS!r}")) for name in names)
        return [self._shared(scope) for scope in scopes]

    def _shared(self, scope: Scope) -> SharedBudget:
        accounts = keys.shared_account(scope.kind, scope.name)
        reply = self._scripts.call("spend", accounts, ("", "", keys.BUDGET_PREFIX, *self._book))
        meter = _Meter(reply, str(scope))
        return SharedBudget(scope, meter.caps(), meter.spend())

    def reserve(
        self,
        run: str,
        reservation: str,
        *,
        job: str,
        role: Role,
        estimate: Amount,
        priced: bool = True,
        backend: str = "",
    ) -> Refusal | None:
        reply = self._scripts.call(
            "reserve",
            (*_accounts(run), keys.settled(run, reservation), keys.job(job)),
            (
                run, reservation, role, max(1, estimate.calls), estimate.tokens,
                estimate.micro_usd, int(priced), self._limits.reservation, keys.BUDGET_PREFIX,
                backend, *self._book,
            ),
        )  # fmt: skip
        if not reply:
            return None
        scope, cap, how = (text(part, f"the refusal of {reservation!r}") for part in reply)
        return Refusal(_scope(scope), _cap_name(cap), final=how == "final")

    def renew(self, run: str, reservations: Sequence[str]) -> None:
        for chunk in chunks(reservations):
            self._scripts.call(
                "extend",
                _accounts(run),
                (run, keys.BUDGET_PREFIX, self._limits.reservation, *chunk),
            )

    def settle(
        self,
        run: str,
        reservation: str,
        *,
        input_tokens: int,
        output_tokens: int,
        micro_usd: int,
        estimated: bool = False,
    ) -> None:
        counted = input_tokens + output_tokens if estimated else 0
        self._settle(run, reservation, "known", (input_tokens, output_tokens, micro_usd, counted))

    def settle_unknown(self, run: str, reservation: str) -> None:
        self._settle(run, reservation, "unknown", (0, 0, 0, 0))

    def _settle(
        self, run: str, reservation: str, how: str, taken: tuple[int, int, int, int]
    ) -> None:
        self._scripts.call(
            "settle",
            (*_accounts(run), keys.settled(run, reservation)),
            (
                run, reservation, how, *taken, self._limits.reservation, keys.BUDGET_PREFIX,
                *self._book,
            ),
        )  # fmt: skip

    def write_off(self, run: str) -> None:
        arguments = (run, "all", keys.BUDGET_PREFIX, *self._book)
        self._scripts.call("spend", _accounts(run), arguments)

    def spend(self, run: str) -> Spend:
        arguments = (run, "", keys.BUDGET_PREFIX, *self._book)
        reply = self._scripts.call("spend", _accounts(run), arguments)
        return _Meter(reply, f"run {run!r}").spend()


class _Meter:
    """The fields of a meter, as the script gave them."""

    def __init__(self, reply: Sequence[object], whose: str) -> None:
        self._whose = whose
        names = (text(name, f"a field in the meter of {whose}") for name in reply[::2])
        self._fields = dict(zip(names, reply[1::2], strict=True))

    def caps(self) -> Caps:
        return Caps(
            calls=self._limit("cap_calls"),
            tokens=self._limit("cap_tokens"),
            micro_usd=self._limit("cap_micro_usd"),
        )

    def spend(self) -> Spend:
        return Spend(
            calls={role: self._count(f"calls_{role}") for role in ROLES},
            input_tokens=self._count("input_tokens"),
            output_tokens=self._count("output_tokens"),
            micro_usd=self._count("micro_usd"),
            micro_usd_by_role=self._money_by_role(),
            estimated_tokens=self._count("estimated_tokens"),
            unpriced_calls=self._count("unpriced_calls"),
            reserved=self._amount("reserved"),
            unconfirmed=self._amount("unconfirmed"),
            executions=self._count("executions"),
            repaid_calls=self._count("repaid_calls"),
            refused=self._refusal(),
        )

    def _money_by_role(self) -> dict[Role, int]:
        amounts = {role: self._count(f"micro_usd_{role}") for role in ROLES}
        return {role: amount for role, amount in amounts.items() if amount}

    def _count(self, name: str) -> int:
        return integer(self._fields.get(name, 0), f"{name!r} in the meter of {self._whose}")

    def _limit(self, name: str) -> int | None:
        return self._count(name) if self._fields.get(name) else None

    def _amount(self, place: str) -> Amount:
        return Amount(
            calls=self._count(f"{place}_calls"),
            tokens=self._count(f"{place}_tokens"),
            micro_usd=self._count(f"{place}_micro_usd"),
        )

    def _refusal(self) -> Refusal | None:
        stored = text(self._fields.get("refused", ""), f"'refused' in the meter of {self._whose}")
        if not stored:
            return None
        scope, _, cap = stored.rpartition(" ")
        return Refusal(_scope(scope), _cap_name(cap))


def _cap(limit: int | None) -> str:
    return "" if limit is None else str(limit)


def _cap_name(stored: str) -> Cap:
    for cap in _FIELD_OF_CAP:
        if cap == stored:
            return cap
    raise StateCorrupt(f"a cap is called {stored!r}, not one of {', '.join(_FIELD_OF_CAP)}")


def _scope(stored: str) -> Scope:
    kind, _, name = stored.partition(":")
    for known in get_args(ScopeKind):
        if kind == known and name:
            return Scope(known, name)
    raise StateCorrupt(f"a budget is of {stored!r}, not of a run, an owner or a team")


def _accounts(run: str) -> tuple[str, str, str]:
    return (keys.meter(run), keys.reservations(run), keys.estimates(run))
