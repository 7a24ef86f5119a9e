"""The traffic to a backend, in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt.domain.backend import Limits
from skillopt.domain.throttling import ThrottleReason, Waiting
from skillopt.state.memory.tables import Tables
from skillopt.state.memory.traffic import Breaker, Bucket, Concurrency, Rates, Slots
from skillopt.state.ports import Admission, CallEnd, Standing, ThrottleScope
from skillopt.state.ports.throttle import allowed_in_a_window

#: A millionth of a second is the rounding of the sums, not a wait.
_ROUNDING_S = 1e-6


@dataclass(frozen=True)
class _Look:
    """A bucket before a call: its level after the call, and how long the call must wait."""

    after: float
    wait_s: float


class MemoryThrottle:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._traffic = tables.traffic
        self._timing = tables.timing

    def admit(self, scope: ThrottleScope, limits: Limits, slot: str, *, tokens: int) -> Admission:
        with self._tables.changed:
            now, ttl_s = self._tables.clock(), self._timing.throttle_ttl_s
            slots = self._traffic.slots.get(_place(scope)) or Slots()
            slots.sweep(now)
            if slot not in slots.ends:
                waiting = self._in_the_way(scope, limits, slots, now)
                waiting = waiting or self._charge(scope, limits, tokens, now)
                if waiting is not None:
                    return self._tell(scope, waiting, now)
                breaker = self._traffic.breakers.get(scope.endpoint)
                if breaker is not None and breaker.open_until is not None:
                    breaker.probe, breaker.probe_until = slot, now + self._timing.lease_s
            slots.ends[slot] = now + self._timing.lease_s
            self._traffic.slots.put(_place(scope), slots, ttl_s)
            return Admission()

    def _in_the_way(
        self, scope: ThrottleScope, limits: Limits, slots: Slots, now: float
    ) -> Waiting | None:
        held_s = self._traffic.holds.remaining_s(scope.credential)
        if held_s > 0:
            return Waiting("hold", held_s)
        breaker = self._traffic.breakers.get(scope.endpoint) or Breaker()
        if breaker.open_until is not None and breaker.open_until > now:
            return Waiting("breaker", breaker.open_until - now, breaker.said)
        if breaker.open_until is not None and breaker.probe_until > now:
            return Waiting("breaker", self._timing.throttle_poll_s, breaker.said)
        allowed = self._traffic.allowed(_place(scope), limits)
        if allowed is not None and len(slots.ends) >= allowed:
            return Waiting("slots", self._timing.throttle_poll_s, str(allowed))
        return None

    def _charge(
        self, scope: ThrottleScope, limits: Limits, tokens: int, now: float
    ) -> Waiting | None:
        """Charge a call against the rates of its credential, or say how long it must wait."""
        share, burst = self._timing.limit_share, self._timing.limit_burst
        rates = self._traffic.rates.get(scope.credential) or Rates()
        calls = spent = None
        allowed_calls = allowed_in_a_window(limits.rpm, share)
        if allowed_calls is not None:
            cost = 1 / allowed_calls
            calls = self._look(rates.calls, now, cost, max(burst, cost), cost)
        allowed_tokens = allowed_in_a_window(limits.tpm, share)
        largest = rates.largest
        if allowed_tokens is not None:
            cost = tokens / allowed_tokens
            largest = max(burst, largest, min(cost, 0.5))
            spent = self._look(rates.tokens, now, cost, largest, 0.0)
        call_wait_s, token_wait_s = (
            0.0 if look is None else look.wait_s for look in (calls, spent)
        )
        if max(call_wait_s, token_wait_s) > _ROUNDING_S:
            why: ThrottleReason = "rpm" if call_wait_s >= token_wait_s else "tpm"
            return Waiting(why, max(call_wait_s, token_wait_s))
        if calls is not None:
            rates.calls = Bucket(calls.after, now)
        if spent is not None:
            rates.tokens, rates.largest = Bucket(spent.after, now), largest
        self._traffic.rates.put(scope.credential, rates, self._timing.throttle_ttl_s)
        return None

    def _look(
        self, bucket: Bucket | None, now: float, need: float, cap: float, spare: float
    ) -> _Look:
        gain = (1 + spare - cap) / (self._timing.limit_window_s + self._timing.limit_slack_s)
        filled = cap
        if bucket is not None:
            filled = min(cap, bucket.level + max(0.0, now - bucket.at) * gain)
        return _Look(filled - need, (min(need, cap) - filled) / gain)

    def _tell(self, scope: ThrottleScope, waiting: Waiting, now: float) -> Admission:
        shown_s = waiting.for_s + self._timing.throttle_shown_s
        self._traffic.waits.put(scope.backend, (waiting, now + waiting.for_s), shown_s)
        return Admission(waiting)

    def renew(self, scope: ThrottleScope, slots: Sequence[str]) -> None:
        with self._tables.changed:
            taken = self._traffic.slots.get(_place(scope))
            if taken is None:
                return
            now = self._tables.clock()
            taken.sweep(now)
            end = now + self._timing.lease_s
            taken.ends.update({slot: end for slot in slots if slot in taken.ends})
            self._traffic.slots.renew(_place(scope), self._timing.throttle_ttl_s)

    def leave(self, scope: ThrottleScope, limits: Limits, slot: str, end: CallEnd) -> None:
        with self._tables.changed:
            now = self._tables.clock()
            if end.hold_s > self._traffic.holds.remaining_s(scope.credential):
                self._traffic.holds.put(scope.credential, True, end.hold_s)
            slots = self._traffic.slots.get(_place(scope)) or Slots()
            in_flight = slots.sweep(now)
            if slots.ends.pop(slot, None) is None:
                return
            self._correct(scope, limits, end)
            self._adapt(scope, limits, end, in_flight, now)
            self._judge_endpoint(scope, slot, end, now)

    def _correct(self, scope: ThrottleScope, limits: Limits, end: CallEnd) -> None:
        """Replace the estimate of a call by what it took."""
        rates, share = self._traffic.rates.get(scope.credential), self._timing.limit_share
        if rates is None:
            return
        allowed_tokens = allowed_in_a_window(limits.tpm, share)
        if allowed_tokens is not None and rates.tokens is not None:
            rates.tokens.level += (end.charged_tokens - end.taken_tokens) / allowed_tokens
        allowed_calls = allowed_in_a_window(limits.rpm, share)
        if allowed_calls is not None and rates.calls is not None and end.kind == "unsent":
            rates.calls.level += 1 / allowed_calls

    def _adapt(
        self, scope: ThrottleScope, limits: Limits, end: CallEnd, in_flight: int, now: float
    ) -> None:
        timing, place = self._timing, _place(scope)
        learnt = self._traffic.concurrency.get(place)
        allowed = self._traffic.allowed(place, limits)
        if end.kind == "limited":
            if learnt is None or now >= learnt.cooldown:
                used = min(in_flight if allowed is None else allowed, in_flight)
                fewer = max(limits.min_concurrency, math.floor(used * timing.concurrency_factor))
                learnt = Concurrency(fewer, now + timing.concurrency_cooldown_s, now)
            learnt = replace(learnt, clean=now)
        elif end.kind == "ok" and learnt is not None and allowed is not None:
            rested = now - learnt.clean >= timing.concurrency_growth_s
            full = limits.concurrency is not None and allowed >= limits.concurrency
            if rested and in_flight * 2 > allowed and not full:
                learnt = replace(learnt, allowed=allowed + 1, clean=now)
        if learnt is not None:
            self._traffic.concurrency.put(place, learnt, timing.throttle_ttl_s)

    def _judge_endpoint(self, scope: ThrottleScope, slot: str, end: CallEnd, now: float) -> None:
        timing, breakers = self._timing, self._traffic.breakers
        breaker = breakers.get(scope.endpoint) or Breaker()
        probed = bool(breaker.probe) and breaker.probe == slot
        if end.kind == "failed":
            breaker.failures, breaker.said = breaker.failures + 1, end.detail
            enough = breaker.open_until is None and breaker.failures >= timing.breaker_failures
            if probed or enough:
                breaker.open_until = now + timing.breaker_open_s
                breaker.probe, breaker.probe_until = "", 0.0
            breakers.put(scope.endpoint, breaker, timing.throttle_ttl_s)
        elif end.kind in ("ok", "limited", "refused"):
            breakers.drop(scope.endpoint)
        elif probed:
            breaker.probe, breaker.probe_until = "", 0.0

    def waiting(self, backends: Sequence[str]) -> dict[str, Waiting]:
        with self._tables.changed:
            now = self._tables.clock()
            found = {name: self._traffic.waits.get(name) for name in backends}
            return {
                name: replace(wait[0], for_s=max(0.0, wait[1] - now))
                for name, wait in found.items()
                if wait is not None
            }

    def standing(self, scope: ThrottleScope, limits: Limits) -> Standing:
        with self._tables.changed:
            now = self._tables.clock()
            slots = self._traffic.slots.get(_place(scope)) or Slots()
            open_until = (self._traffic.breakers.get(scope.endpoint) or Breaker()).open_until
            state = "closed"
            if open_until is not None:
                state = "open" if open_until > now else "probing"
            return Standing(
                in_flight=slots.sweep(now),
                allowed=self._traffic.allowed(_place(scope), limits),
                breaker=state,  # type: ignore[arg-type]  # one of the three words
                hold_s=self._traffic.holds.remaining_s(scope.credential),
            )


def _place(scope: ThrottleScope) -> str:
    return f"{scope.backend}:{scope.credential}"
