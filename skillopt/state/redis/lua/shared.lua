-- Functions that several scripts use; the loader puts this text in front of each of them.
-- It touches no key by itself.

-- Server time in microseconds and milliseconds: the only clock that decides anything.
local function now_us()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function now_ms() return math.floor(now_us() / 1000) end

-- Whether owner and fence are those of the present lead in so:runlease:<run>.
local function leads(run_lease, owner, fence)
  local held = redis.call('HMGET', run_lease, 'owner', 'fence')
  return held[1] == owner and held[2] == fence
end

-- Ring so:done:<run> of each run. bell = {prefix, length, ttl in ms}.
local function ring(bell, runs)
  for _, run in ipairs(runs) do
    local stream = bell[1] .. run
    redis.call('XADD', stream, 'MAXLEN', '~', bell[2], '*', 'n', '1')
    redis.call('PEXPIRE', stream, bell[3])
  end
end

-- Mark a job dead in so:dead:<job> and tell its waiters; gives the reason.
local function bury(dead, wait, claims, quarantine_claims, ttl, bell)
  local reason = 'lost: ' .. claims .. ' claims were lost, then ' .. quarantine_claims
    .. ' more in quarantine'
  redis.call('SET', dead, reason, 'PX', ttl)
  ring(bell, redis.call('SMEMBERS', wait))
  return reason
end

-- Take one claim off the counters of so:job:<job>, and with it its message and its calls.
local function uncount_claim(job)
  local lane = redis.call('HGET', job, 'claim_lane')
  local counter = lane == 'quarantine' and 'qclaims' or 'claims'
  if (tonumber(redis.call('HGET', job, counter)) or 0) > 0 then
    redis.call('HINCRBY', job, counter, -1)
  end
  redis.call('HDEL', job, 'sent', 'sends', 'claimed', 'claim_lane', 'calls', 'repaid')
end

-- Split an estimate "role:calls:tokens:micro_usd".
local function estimate_of(text)
  return string.match(text, '^(%a+):(%-?%d+):(%-?%d+):(%-?%d+)$')
end

-- Settle every reservation whose time is up at its estimate, as unconfirmed.
local function settle_lapsed(meter, reservations, estimates, now)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', reservations, '-inf', now)) do
    local role, calls, tokens, money = estimate_of(redis.call('HGET', estimates, id))
    redis.call('ZREM', reservations, id)
    redis.call('HINCRBY', meter, 'reserved_calls', 0 - calls)
    redis.call('HINCRBY', meter, 'reserved_tokens', 0 - tokens)
    redis.call('HINCRBY', meter, 'reserved_micro_usd', 0 - money)
    redis.call('HINCRBY', meter, 'calls_' .. role, calls)
    redis.call('HINCRBY', meter, 'unconfirmed_calls', calls)
    redis.call('HINCRBY', meter, 'unconfirmed_tokens', tokens)
    redis.call('HINCRBY', meter, 'unconfirmed_micro_usd', money)
  end
end

-- Calls allowed at a time by so:aimd and the bounds of the catalogue; nil if nothing limits them.
local function allowed_slots(aimd, least, most)
  local allowed = tonumber(redis.call('HGET', aimd, 'allowed') or '')
  if allowed then allowed = math.max(allowed, tonumber(least)) end
  if most ~= '' then allowed = math.min(allowed or tonumber(most), tonumber(most)) end
  return allowed
end
