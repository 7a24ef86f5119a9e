-- LEAVE: give the slot of a call back and learn from how it ended.
--
-- KEYS  1 so:hold:<credential>  2 so:rate:<credential>  3 so:slots:<backend>:<credential>
--       4 so:aimd:<backend>:<credential>  5 so:breaker:<endpoint>
-- ARGV  1 slot  2 ok | limited | failed | refused | unknown | unsent  3 hold ms, or 0  4 ttl ms
--       5 calls allowed in a window, or ''  6 tokens allowed, or ''  7 tokens charged
--       8 tokens taken  9 least calls at a time  10 most calls at a time, or ''  11 factor
--       12 cooldown ms  13 growth ms  14 failures that open  15 open ms  16 what was said
-- Reply 1, or 0 if the slot was given back before or lapsed
-- Writes all five keys.

local hold, rate, slots, aimd, breaker = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local slot, kind, ttl = ARGV[1], ARGV[2], ARGV[4]
local now = now_ms()

local hold_ms = tonumber(ARGV[3])
if hold_ms > 0 and redis.call('PTTL', hold) < hold_ms then
  redis.call('SET', hold, '1', 'PX', hold_ms)
end

redis.call('ZREMRANGEBYSCORE', slots, '-inf', now)
local in_flight = redis.call('ZCARD', slots)
if redis.call('ZREM', slots, slot) == 0 then return 0 end

if redis.call('EXISTS', rate) == 1 then
  if ARGV[6] ~= '' then
    redis.call('HINCRBYFLOAT', rate, 'tokens',
      (tonumber(ARGV[7]) - tonumber(ARGV[8])) / tonumber(ARGV[6]))
  end
  if ARGV[5] ~= '' and kind == 'unsent' then
    redis.call('HINCRBYFLOAT', rate, 'calls', 1 / tonumber(ARGV[5]))
  end
end

-- Its own clock: how long a provider asked us to wait says nothing about how many may call.
local a = redis.call('HMGET', aimd, 'cooldown', 'clean')
if kind == 'limited' then
  redis.call('HSET', aimd, 'clean', now)
  if now >= (tonumber(a[1]) or 0) then
    local allowed = allowed_slots(aimd, ARGV[9], ARGV[10])
    local used = math.min(allowed or in_flight, in_flight)
    local least = tonumber(ARGV[9])
    redis.call('HSET', aimd, 'allowed', math.max(least, math.floor(used * tonumber(ARGV[11]))),
      'cooldown', now + tonumber(ARGV[12]))
  end
elseif kind == 'ok' and a[2] then
  local allowed = allowed_slots(aimd, ARGV[9], ARGV[10])
  local most = tonumber(ARGV[10])
  local rested = now - tonumber(a[2]) >= tonumber(ARGV[13])
  if rested and in_flight * 2 > allowed and not (most and allowed >= most) then
    redis.call('HSET', aimd, 'allowed', allowed + 1, 'clean', now)
  end
end
redis.call('PEXPIRE', aimd, ttl)

local b = redis.call('HMGET', breaker, 'open_until', 'probe')
if kind == 'failed' then
  local failures = redis.call('HINCRBY', breaker, 'failures', 1)
  redis.call('HSET', breaker, 'said', ARGV[16])
  if b[2] == slot or (not b[1] and failures >= tonumber(ARGV[14])) then
    redis.call('HSET', breaker, 'open_until', now + tonumber(ARGV[15]))
    redis.call('HDEL', breaker, 'probe', 'probe_until')
  end
  redis.call('PEXPIRE', breaker, ttl)
elseif kind == 'ok' or kind == 'limited' or kind == 'refused' then
  redis.call('DEL', breaker)
elseif b[2] == slot then
  redis.call('HDEL', breaker, 'probe', 'probe_until')
end
return 1
