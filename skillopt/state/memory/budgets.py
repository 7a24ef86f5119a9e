"""Budgets: reserved before a call, settled after it, in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skillopt.domain.usage import ROLES, Role
from skillopt.state.memory.spending import add_call, add_taken
from skillopt.state.memory.tables import Meter, Reservation, Tables
from skillopt.state.ports import Amount, Cap, Caps, Refusal, Scope, SharedBudget, Spend


class MemoryBudgets:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def set_caps(self, run: str, caps: Caps) -> None:
        with self._tables.changed:
            meter = self._tables.meter(run)
            meter.caps, meter.refused = caps, None

    def join(self, run: str, *, owner: str = "", team: str = "") -> None:
        named = (("owner", owner), ("team", team))
        scopes = tuple(Scope("owner" if kind == "owner" else "team", n) for kind, n in named if n)
        with self._tables.changed:
            self._tables.meter(run).shared = scopes
            for scope in scopes:
                self._shared_meter(scope)

    def set_shared_caps(self, scope: Scope, changes: Mapping[Cap, int | None]) -> None:
        with self._tables.changed:
            meter = self._shared_meter(scope)
            fields = {"micro_usd" if cap == "usd" else cap: cap for cap in changes}
            meter.caps = replace(meter.caps, **{f: changes[cap] for f, cap in fields.items()})

    def shared(self) -> list[SharedBudget]:
        tables = self._tables
        with tables.changed:
            for meter in tables.shared_meters.values():
                self._sweep(meter)
            return [
                SharedBudget(scope, meter.caps, _spend(meter))
                for scope, meter in sorted(tables.shared_meters.items(), key=lambda row: row[0])
            ]

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
        tables = self._tables
        with tables.changed:
            own = tables.meter(run)
            payers = self._payers(run, own.shared)
            for _, meter, _ in payers:
                self._sweep(meter)
            if _settled(run, reservation) in tables.settled or reservation in own.reservations:
                return None
            estimate = replace(estimate, calls=max(1, estimate.calls))
            refused = _refusal([(scope, meter) for scope, meter, _ in payers], estimate)
            if refused is not None:
                own.refused = refused if refused.final else own.refused
                return refused
            lapses = tables.clock() + tables.timing.reservation_s
            for _, meter, mark in payers:
                held = Reservation(role, estimate, own.shared, backend, priced)
                meter.reservations[mark + reservation] = held
                meter.lapses[mark + reservation] = lapses
                meter.reserved = _plus(meter.reserved, estimate)
                meter.unpriced_calls += 0 if priced else estimate.calls
            record = tables.jobs.get(job)
            if record is not None:
                record.calls += estimate.calls
            return None

    def renew(self, run: str, reservations: Sequence[str]) -> None:
        tables = self._tables
        with tables.changed:
            until = tables.clock() + tables.timing.reservation_s
            for reservation in reservations:
                for _, meter, mark in self._payers_of(run, reservation):
                    if mark + reservation in meter.lapses:
                        meter.lapses[mark + reservation] = until

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
        with self._tables.changed:
            taken = {"input_tokens": input_tokens, "output_tokens": output_tokens}
            for held, meter, name in self._closed(run, reservation):
                if name == reservation:
                    add_taken(self._tables, run, held, **taken, micro_usd=micro_usd)
                if meter.lapses.pop(name, None) is None:
                    meter.unconfirmed = _plus(meter.unconfirmed, held.estimate, -1)
                else:
                    meter.reserved = _plus(meter.reserved, held.estimate, -1)
                    _count(meter, held)
                    if name == reservation:
                        add_call(self._tables, run, held)
                meter.input_tokens += input_tokens
                meter.output_tokens += output_tokens
                meter.micro_usd += micro_usd
                by_role = meter.micro_usd_by_role
                by_role[held.role] = by_role.get(held.role, 0) + micro_usd
                meter.estimated_tokens += input_tokens + output_tokens if estimated else 0

    def settle_unknown(self, run: str, reservation: str) -> None:
        with self._tables.changed:
            for held, meter, name in self._closed(run, reservation):
                self._lapse(meter, name, held)

    def write_off(self, run: str) -> None:
        with self._tables.changed:
            own = self._tables.meter(run)
            for reservation in list(own.lapses):
                held = own.reservations[reservation]
                for _, meter, mark in self._payers(run, held.shared):
                    self._lapse(meter, mark + reservation, held)

    def spend(self, run: str) -> Spend:
        with self._tables.changed:
            meter = self._tables.meter(run)
            self._sweep(meter)
            return _spend(meter)

    def _shared_meter(self, scope: Scope) -> Meter:
        return self._tables.shared_meters.setdefault(scope, Meter())

    def _payers(self, run: str, shared: tuple[Scope, ...]) -> list[tuple[Scope, Meter, str]]:
        """Give everybody who pays, and what stands before the name of a reservation there."""
        own = (Scope("run", run), self._tables.meter(run), "")
        return [own, *((scope, self._shared_meter(scope), f"{run}/") for scope in shared)]

    def _payers_of(self, run: str, reservation: str) -> list[tuple[Scope, Meter, str]]:
        held = self._tables.meter(run).reservations.get(reservation)
        return [] if held is None else self._payers(run, held.shared)

    def _closed(self, run: str, reservation: str) -> list[tuple[Reservation, Meter, str]]:
        """Take a reservation from all who hold it, for good; none if there is none to settle."""
        tables = self._tables
        payers = self._payers_of(run, reservation)
        if not payers:
            return []
        held = tables.meter(run).reservations[reservation]
        for _, meter, mark in payers:
            meter.reservations.pop(mark + reservation, None)
        tables.settled.put(_settled(run, reservation), True, tables.timing.reservation_s)
        return [(held, meter, mark + reservation) for _, meter, mark in payers]

    def _sweep(self, meter: Meter) -> None:
        """Settle every reservation lapsed by now as unconfirmed."""
        now = self._tables.clock()
        for name in [name for name, end in meter.lapses.items() if end <= now]:
            self._lapse(meter, name, meter.reservations[name])

    def _lapse(self, meter: Meter, name: str, held: Reservation) -> None:
        """Count a reservation in force at its estimate, as unconfirmed."""
        if meter.lapses.pop(name, None) is None:
            return
        meter.reserved = _plus(meter.reserved, held.estimate, -1)
        meter.unconfirmed = _plus(meter.unconfirmed, held.estimate)
        _count(meter, held)
        run = next((run for run, own in self._tables.meters.items() if own is meter), None)
        if run is not None:
            add_call(self._tables, run, held)


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


def _spend(meter: Meter) -> Spend:
    return Spend(
        calls={role: meter.calls.get(role, 0) for role in ROLES},
        input_tokens=meter.input_tokens,
        output_tokens=meter.output_tokens,
        micro_usd=meter.micro_usd,
        micro_usd_by_role={role: usd for role, usd in meter.micro_usd_by_role.items() if usd},
        estimated_tokens=meter.estimated_tokens,
        unpriced_calls=meter.unpriced_calls,
        reserved=meter.reserved,
        unconfirmed=meter.unconfirmed,
        executions=meter.executions,
        repaid_calls=meter.repaid_calls,
        refused=meter.refused,
    )


def _refusal(payers: Sequence[tuple[Scope, Meter]], estimate: Amount) -> Refusal | None:
    """Give the first final refusal of any payer, else the first that is not."""
    held: Refusal | None = None
    for scope, meter in payers:
        for cap, needed, reserved, limit in _needs(meter, estimate):
            if needed > limit:
                return Refusal(scope, cap)
            if needed + reserved > limit:
                held = held or Refusal(scope, cap, final=False)
    return held


def _needs(meter: Meter, estimate: Amount) -> list[tuple[Cap, int, int, float]]:
    """Give each cap with what is spent and the estimate on top, what is reserved, and the limit."""
    caps, reserved = meter.caps, meter.reserved
    tokens = meter.input_tokens + meter.output_tokens + meter.unconfirmed.tokens
    micro_usd = meter.micro_usd + meter.unconfirmed.micro_usd
    # A reserved call will be a call, whatever it takes: no room comes back.
    calls = sum(meter.calls.values()) + reserved.calls
    return [
        ("calls", calls + estimate.calls, 0, _limit(caps.calls)),
        ("tokens", tokens + estimate.tokens, reserved.tokens, _limit(caps.tokens)),
        ("usd", micro_usd + estimate.micro_usd, reserved.micro_usd, _limit(caps.micro_usd)),
    ]


def _limit(cap: int | None) -> float:
    return math.inf if cap is None else cap
