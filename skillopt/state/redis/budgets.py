"""Budgets: reserved before a call, settled after it, in Redis."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from skillopt.domain.usage import ROLES, Role
from skillopt.state import keys
from skillopt.state.ports import Amount, Caps, Spend
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text
from skillopt.state.redis.scripts import Limits, Scripts, chunks


class RedisBudgets:
    """Scripts reserve, extend, settle and spend."""

    def __init__(self, client: redis.Redis, scripts: Scripts, limits: Limits) -> None:
        self._client = client
        self._scripts = scripts
        self._limits = limits

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

    def reserve(
        self, run: str, reservation: str, *, job: str, role: Role, estimate: Amount
    ) -> str | None:
        reply = self._scripts.call(
            "reserve",
            (*_accounts(run), keys.settled(run, reservation), keys.job(job)),
            (
                reservation, role, max(1, estimate.calls), estimate.tokens, estimate.micro_usd,
                self._limits.reservation,
            ),
        )  # fmt: skip
        return text(reply, f"the answer to reservation {reservation!r}") or None

    def renew(self, run: str, reservations: Sequence[str]) -> None:
        for chunk in chunks(reservations):
            names = (keys.reservations(run),)
            self._scripts.call("extend", names, (self._limits.reservation, *chunk))

    def settle(
        self, run: str, reservation: str, *, input_tokens: int, output_tokens: int, micro_usd: int
    ) -> None:
        self._scripts.call(
            "settle",
            (*_accounts(run), keys.settled(run, reservation)),
            (reservation, input_tokens, output_tokens, micro_usd, self._limits.reservation),
        )

    def write_off(self, run: str) -> None:
        self._scripts.call("spend", _accounts(run), ("all",))

    def spend(self, run: str) -> Spend:
        reply = self._scripts.call("spend", _accounts(run), ("",))
        names = (text(name, f"a field in the meter of run {run!r}") for name in reply[::2])
        meter = dict(zip(names, reply[1::2], strict=True))

        def count(name: str) -> int:
            return integer(meter.get(name, 0), f"{name!r} in the meter of run {run!r}")

        def amount(place: str) -> Amount:
            return Amount(
                calls=count(f"{place}_calls"),
                tokens=count(f"{place}_tokens"),
                micro_usd=count(f"{place}_micro_usd"),
            )

        return Spend(
            calls={role: count(f"calls_{role}") for role in ROLES},
            input_tokens=count("input_tokens"),
            output_tokens=count("output_tokens"),
            micro_usd=count("micro_usd"),
            reserved=amount("reserved"),
            unconfirmed=amount("unconfirmed"),
            executions=count("executions"),
            repaid_calls=count("repaid_calls"),
            refused=text(meter.get("refused", ""), f"'refused' in the meter of run {run!r}"),
        )


def _cap(limit: int | None) -> str:
    return "" if limit is None else str(limit)


def _accounts(run: str) -> tuple[str, str, str]:
    return (keys.meter(run), keys.reservations(run), keys.estimates(run))
