"""The traffic to a backend, in Redis: one script lets a call through, one learns from its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from skillopt.domain.backend import Limits
from skillopt.domain.throttling import ThrottleReason, Waiting
from skillopt.domain.timing import Timing
from skillopt.state import keys
from skillopt.state.ports import Admission, CallEnd, Standing, ThrottleScope
from skillopt.state.ports.throttle import allowed_in_a_window
from skillopt.state.redis.replies import text
from skillopt.state.redis.scripts import Argument, Scripts, chunks, milliseconds


class RedisThrottle:
    """Scripts admit, keep, leave, standing and waits."""

    def __init__(self, scripts: Scripts, timing: Timing) -> None:
        self._scripts = scripts
        self._timing = timing
        self._lease = milliseconds(timing.lease_s)
        self._ttl = milliseconds(timing.throttle_ttl_s)
        self._admission: tuple[Argument, ...] = (
            self._lease,
            milliseconds(timing.throttle_poll_s),
            milliseconds(timing.throttle_shown_s),
            self._ttl,
            milliseconds(timing.limit_window_s + timing.limit_slack_s),
            repr(timing.limit_burst),
        )
        self._learning: tuple[Argument, ...] = (
            repr(timing.concurrency_factor),
            milliseconds(timing.concurrency_cooldown_s),
            milliseconds(timing.concurrency_growth_s),
            timing.breaker_failures,
            milliseconds(timing.breaker_open_s),
        )

    def admit(self, scope: ThrottleScope, limits: Limits, slot: str, *, tokens: int) -> Admission:
        why, wait_ms, detail = self._scripts.call(
            "admit",
            (*_names(scope), keys.throttled(scope.backend)),
            (slot, *self._admission, *self._rates(limits), tokens, *_bounds(limits)),
        )
        return Admission(_waiting(scope.backend, why, wait_ms, detail) if why else None)

    def renew(self, scope: ThrottleScope, slots: Sequence[str]) -> None:
        for chunk in chunks(slots):
            names = (keys.slots(scope.backend, scope.credential),)
            self._scripts.call("keep", names, (self._lease, self._ttl, *chunk))

    def leave(self, scope: ThrottleScope, limits: Limits, slot: str, end: CallEnd) -> None:
        hold = milliseconds(end.hold_s) if end.hold_s > 0 else 0
        self._scripts.call(
            "leave",
            _names(scope),
            (
                slot, end.kind, hold, self._ttl,
                *self._rates(limits), end.charged_tokens, end.taken_tokens,
                *_bounds(limits), *self._learning, end.detail,
            ),
        )  # fmt: skip

    def waiting(self, backends: Sequence[str]) -> dict[str, Waiting]:
        if not backends:
            return {}
        reply = self._scripts.call("waits", [keys.throttled(name) for name in backends], ())
        found = zip(backends, reply, strict=True)
        return {name: _waiting(name, *values) for name, values in found if values}

    def standing(self, scope: ThrottleScope, limits: Limits) -> Standing:
        hold, _, slots, concurrency, breaker = _names(scope)
        in_flight, allowed, state, hold_ms = self._scripts.call(
            "standing", (hold, slots, concurrency, breaker), _bounds(limits)
        )
        known = text(state, f"the breaker of {scope.endpoint!r}")
        return Standing(
            in_flight=in_flight,
            allowed=allowed if allowed >= 0 else None,
            breaker=cast(Literal["closed", "open", "probing"], known),
            hold_s=hold_ms / 1000,
        )

    def _rates(self, limits: Limits) -> tuple[Argument, Argument]:
        share = self._timing.limit_share
        return (
            _or_none(allowed_in_a_window(limits.rpm, share)),
            _or_none(allowed_in_a_window(limits.tpm, share)),
        )


def _names(scope: ThrottleScope) -> tuple[str, str, str, str, str]:
    return (
        keys.hold(scope.credential),
        keys.rate(scope.credential),
        keys.slots(scope.backend, scope.credential),
        keys.concurrency(scope.backend, scope.credential),
        keys.breaker(scope.endpoint),
    )


def _bounds(limits: Limits) -> tuple[Argument, Argument]:
    return limits.min_concurrency, _or_none(limits.concurrency)


def _or_none(number: int | None) -> Argument:
    return "" if number is None else number


def _waiting(backend: str, why: Any, wait_ms: int, detail: Any) -> Waiting:  # noqa: ANN401
    what = f"what backend {backend!r} waits for"
    return Waiting(
        why=cast(ThrottleReason, text(why, what)),
        for_s=wait_ms / 1000,
        detail=text(detail, what),
    )
