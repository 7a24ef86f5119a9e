"""The two adapters under one roof: a state, and a way to let time pass on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import redis

from skillopt.domain.timing import Timing
from skillopt.state.memory.build import build
from skillopt.state.ports import State
from skillopt.state.redis.connect import connect
from skillopt.state.urls import state_url

#: Long enough that nothing ends by itself during a test: time passes only on request.
TIMING = Timing(
    lease_s=30, lead_s=30, resend_s=60, reservation_s=90, max_lost_claims=2, max_quarantine_claims=3
)

#: For the state machine, so that few losses are enough to reach quarantine and death.
FRAGILE = replace(TIMING, max_lost_claims=1, max_quarantine_claims=1)


class Advance(Protocol):
    """Let time pass for the state, at once."""

    def __call__(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class Adapter:
    state: State
    advance: Advance
    timing: Timing = TIMING
    #: The state's database, where there is one.
    client: redis.Redis | None = None


class FakeClock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


# Redis' clock cannot be set. Moving every stored end and start into the past is the same thing:
# scripts only ever compare them with now.
REWIND = """
local by = tonumber(ARGV[1])
local function move(key, field)
  local value = redis.call('HGET', key, field)
  if value then redis.call('HSET', key, field, tonumber(value) - by) end
end
for _, key in ipairs(redis.call('KEYS', 'so:*')) do
  if string.find(key, '^so:job:') then
    move(key, 'sent')
    move(key, 'until')
  elseif string.find(key, '^so:res:') then
    move(key, 'at')
  elseif string.find(key, '^so:rate:') then
    move(key, 'calls_at')
    move(key, 'tokens_at')
  elseif string.find(key, '^so:aimd:') then
    move(key, 'cooldown')
    move(key, 'clean')
  elseif string.find(key, '^so:breaker:') then
    move(key, 'open_until')
    move(key, 'probe_until')
  elseif string.find(key, '^so:runlease:') then
    move(key, 'until')
  elseif string.find(key, '^so:share:') then
    for _, run in ipairs(redis.call('HKEYS', key)) do
      local ends, began, rest = string.match(redis.call('HGET', key, run), '^(%d+):(%d+):(.*)$')
      redis.call('HSET', key, run, string.format('%.0f:%.0f:', ends - by, began - by) .. rest)
    end
  elseif string.find(key, '^so:.*:rsv$') or string.find(key, '^so:slots:')
      or key == 'so:coordinators' then
    for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      redis.call('ZINCRBY', key, -by, id)
    end
  end
  local left = redis.call('PTTL', key)
  if left >= 0 then
    if left <= by then redis.call('DEL', key) else redis.call('PEXPIRE', key, left - by) end
  end
end
"""


def memory_adapter(timing: Timing = TIMING) -> Adapter:
    clock = FakeClock()
    return Adapter(build(timing, clock), clock.advance, timing)


@contextmanager
def redis_adapter(url: str, timing: Timing = TIMING) -> Iterator[Adapter]:
    with connect(url, timing) as state, redis.Redis.from_url(state_url(url)) as client:
        rewind = client.register_script(REWIND)

        def advance(seconds: float) -> None:
            rewind(args=[round(seconds * 1000)])

        yield Adapter(state, advance, timing, client)
