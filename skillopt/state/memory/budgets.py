"""Budgets: reserved before a call, settled after it, in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from skillopt.domain.usage import ROLES, Role
from skillopt.state.memory.tables import Meter, Reservation, Tables
from skillopt.state.ports import Amount, Caps, Spend


class MemoryBudgets:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def set_caps(self, run: str, caps: Caps) -> None:
        with self._tables.changed:
            meter = self._tables.meter(run)
            meter.caps, meter.refused = caps, ""

    def reserve(
        self, run: str, reservation: str, *, job: str, role: Role, estimate: Amount
    ) -> str | None:
        tables = self._tables
        with tables.changed:
            meter = self._swept(run)
            if _settled(run, reservation) in tables.settled or reservation in meter.reservations:
                return None
            estimate = replace(estimate, calls=max(1, estimate.calls))
            refused = _refusal(meter, estimate)
            if refused is not None:
                meter.refused = refused
                return refused
            meter.reservations[reservation] = Reservation(role, estimate)
            meter.lapses[reservation] = tables.clock() + tables.timing.reservation_s
            meter.reserved = _plus(meter.reserved, estimate)
            record = tables.jobs.get(job)
            if record is not None:
                record.calls += estimate.calls
            return None

    def renew(self, run: str, reservations: Sequence[str]) -> None:
        tables = self._tables
        with tables.changed:
            lapses = tables.meter(run).lapses
            for reservation in reservations:
                if reservation in lapses:
                    lapses[reservation] = tables.clock() + tables.timing.reservation_s

    def settle(
        self, run: str, reservation: str, *, input_tokens: int, output_tokens: int, micro_usd: int
    ) -> None:
        tables = self._tables
        with tables.changed:
            meter = tables.meter(run)
            held = meter.reservations.pop(reservation, None)
            if held is None:
                return
            if meter.lapses.pop(reservation, None) is None:
                meter.unconfirmed = _plus(meter.unconfirmed, held.estimate, -1)
            else:
                meter.reserved = _plus(meter.reserved, held.estimate, -1)
                _count(meter, held)
            meter.input_tokens += input_tokens
            meter.output_tokens += output_tokens
            meter.micro_usd += micro_usd
            key = _settled(run, reservation)
            tables.settled.put(key, True, tables.timing.reservation_s)

    def write_off(self, run: str) -> None:
        with self._tables.changed:
            self._swept(run, until=math.inf)

    def spend(self, run: str) -> Spend:
        with self._tables.changed:
            meter = self._swept(run)
            return Spend(
                calls={role: meter.calls.get(role, 0) for role in ROLES},
                input_tokens=meter.input_tokens,
                output_tokens=meter.output_tokens,
                micro_usd=meter.micro_usd,
                reserved=meter.reserved,
                unconfirmed=meter.unconfirmed,
                executions=meter.executions,
                repaid_calls=meter.repaid_calls,
                refused=meter.refused,
            )

    def _swept(self, run: str, *, until: float | None = None) -> Meter:
        """Give a run's meter, with every reservation lapsed by now settled as unconfirmed."""
        meter, now = self._tables.meter(run), self._tables.clock() if until is None else until
        for reservation in [name for name, end in meter.lapses.items() if end <= now]:
            del meter.lapses[reservation]
            held = meter.reservations[reservation]
            meter.reserved = _plus(meter.reserved, held.estimate, -1)
            meter.unconfirmed = _plus(meter.unconfirmed, held.estimate)
            _count(meter, held)
        return meter


def _settled(run: str, reservation: str) -> str:
    return f"{run}:{reservation}"


def _count(meter: Meter, held: Reservation) -> None:
    meter.calls[held.role] = meter.calls.get(held.role, 0) + held.estimate.calls


def _plus(amount: Amount, other: Amount, times: int = 1) -> Amount:
    return Amount(
        calls=amount.calls + times * other.calls,
        tokens=amount.tokens + times * other.tokens,
        micro_usd=amount.micro_usd + times * other.micro_usd,
    )


def _refusal(meter: Meter, estimate: Amount) -> str | None:
    """Name the cap that does not allow the estimate on top of all that is spent or reserved."""
    caps, held = meter.caps, _plus(meter.reserved, estimate)
    calls = sum(meter.calls.values()) + held.calls
    tokens = meter.input_tokens + meter.output_tokens + meter.unconfirmed.tokens + held.tokens
    micro_usd = meter.micro_usd + meter.unconfirmed.micro_usd + held.micro_usd
    used = (("calls", calls, caps.calls), ("tokens", tokens, caps.tokens))
    for name, amount, cap in (*used, ("usd", micro_usd, caps.micro_usd)):
        if cap is not None and amount > cap:
            return name
    return None
