"""Both adapters of the throttle answer alike, whatever happens in whatever order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from state_adapters import Adapter, memory_adapter, redis_adapter
from test_state_machine import SETTINGS
from throttle_scopes import scope

from skillopt.domain.backend import Limits
from skillopt.state.ports import CallEnd

SCOPES = (scope(), scope("other"), scope(credential="c2", endpoint="e2"))
SLOTS = ("a", "b", "c", "d", "e", "f")
LIMITS = Limits(concurrency=5, min_concurrency=2)

places = st.integers(0, len(SCOPES) - 1)
slots = st.sampled_from(SLOTS)
kinds = st.sampled_from(("ok", "ok", "limited", "failed", "failed", "refused", "unknown", "unsent"))
# No sum of these is a duration of the timing: two clocks never stand on both sides of an end.
steps = st.one_of(
    st.tuples(st.just("admit"), places, slots),
    st.tuples(st.just("admit"), places, slots),
    st.tuples(st.just("leave"), places, slots, kinds, st.sampled_from((0.0, 0.0, 8.63))),
    st.tuples(st.just("renew"), places, slots),
    st.tuples(st.just("advance"), st.sampled_from((1.33, 7.17))),
)


def story(adapter: Adapter, events: list[tuple]) -> list[object]:
    """Let events happen and tell what could be seen after each of them."""
    throttle, seen = adapter.state.throttle, list[object]()
    for event in events:
        if event[0] == "advance":
            adapter.advance(event[1])
            continue
        where = SCOPES[event[1]]
        if event[0] == "admit":
            waiting = throttle.admit(where, LIMITS, event[2], tokens=1).waiting
            seen.append(waiting and (waiting.why, waiting.detail, round(waiting.for_s)))
        elif event[0] == "renew":
            throttle.renew(where, [event[2]])
        else:
            end = CallEnd(event[3], hold_s=event[4], detail=event[3])
            throttle.leave(where, LIMITS, event[2], end)
        now = throttle.standing(where, LIMITS)
        seen.append((now.in_flight, now.allowed, now.breaker, round(now.hold_s)))
    return seen


def test_both_adapters_tell_the_same_story(redis_url: str):
    with redis_adapter(redis_url) as adapter:
        client = adapter.client
        assert client is not None

        @settings(SETTINGS, max_examples=150)
        @given(st.lists(steps, min_size=20, max_size=60))
        def tell(events: list[tuple]) -> None:
            client.flushdb()
            assert story(memory_adapter(), events) == story(adapter, events)

        tell()
