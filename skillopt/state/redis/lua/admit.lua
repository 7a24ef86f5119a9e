-- ADMIT: let one call to a backend start, or say what it has to wait for.
--
-- KEYS  1 so:hold:<credential>  2 so:rate:<credential>  3 so:slots:<backend>:<credential>
--       4 so:aimd:<backend>:<credential>  5 so:breaker:<endpoint>  6 so:throttled:<backend>
-- ARGV  1 slot  2 lease ms  3 poll ms  4 shown ms  5 ttl ms  6 window ms (with its slack)
--       7 burst share  8 calls allowed in a window, or ''  9 tokens allowed, or ''
--       10 tokens of this call  11 least calls at a time  12 most calls at a time, or ''
-- Reply {'', 0, ''} if it may start, else {why, wait ms, detail}
-- Reads so:hold, so:aimd. Writes so:rate, so:slots, so:breaker (the probe), so:throttled.

local rate, slots, breaker = KEYS[2], KEYS[3], KEYS[5]
local slot, lease, poll, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[5]
local window, burst = tonumber(ARGV[6]), tonumber(ARGV[7])
local now = now_ms()

local function wait(why, ms, detail)
  ms = math.max(1, math.ceil(ms))
  redis.call('SET', KEYS[6], string.format('%.0f', now + ms) .. ':' .. why .. ':' .. detail,
    'PX', ms + tonumber(ARGV[4]))
  return {why, ms, detail}
end

redis.call('ZREMRANGEBYSCORE', slots, '-inf', now)
if redis.call('ZSCORE', slots, slot) then
  redis.call('ZADD', slots, now + lease, slot)
  return {'', 0, ''}
end

local held = redis.call('PTTL', KEYS[1])
if held > 0 then return wait('hold', held, '') end

local b = redis.call('HMGET', breaker, 'open_until', 'probe_until', 'said')
local open_until = tonumber(b[1])
if open_until and open_until > now then
  return wait('breaker', open_until - now, b[3] or '')
elseif open_until and (tonumber(b[2]) or 0) > now then
  return wait('breaker', poll, b[3] or '')
end

local allowed = allowed_slots(KEYS[4], ARGV[11], ARGV[12])
if allowed and redis.call('ZCARD', slots) >= allowed then
  return wait('slots', poll, tostring(allowed))
end

-- Levels are shares of what a window allows. A bucket of the size `cap` that gains
-- (1 + spare - cap) in a window never gives more than 1 + spare in one: whole calls are counted,
-- so that a part of a call (the spare) is free.
local f = redis.call('HMGET', rate, 'calls', 'calls_at', 'tokens', 'tokens_at', 'largest')

local function look(level, at, need, cap, spare)
  local gain = (1 + spare - cap) / window
  local passed = math.max(0, now - (tonumber(at) or now))
  local filled = level and math.min(cap, tonumber(level) + passed * gain) or cap
  return filled, (math.min(need, cap) - filled) / gain
end

local changes = {}
local call_wait, token_wait = 0, 0
if ARGV[8] ~= '' then
  local cost = 1 / tonumber(ARGV[8])
  local level
  level, call_wait = look(f[1], f[2], cost, math.max(burst, cost), cost)
  changes = {'calls', level - cost, 'calls_at', now}
end
if ARGV[9] ~= '' then
  local cost = tonumber(ARGV[10]) / tonumber(ARGV[9])
  local largest = math.max(burst, tonumber(f[5]) or 0, math.min(cost, 1 / 2))
  local level
  level, token_wait = look(f[3], f[4], cost, largest, 0)
  for _, value in ipairs({'tokens', level - cost, 'tokens_at', now, 'largest', largest}) do
    changes[#changes + 1] = value
  end
end
-- A thousandth of a millisecond is the rounding of the sums, not a wait.
if math.max(call_wait, token_wait) * 1000 > 1 then
  if call_wait >= token_wait then return wait('rpm', call_wait, '') end
  return wait('tpm', token_wait, '')
end

if #changes > 0 then
  redis.call('HSET', rate, unpack(changes))
  redis.call('PEXPIRE', rate, ttl)
end
redis.call('ZADD', slots, now + lease, slot)
redis.call('PEXPIRE', slots, ttl)
if open_until then
  redis.call('HSET', breaker, 'probe', slot, 'probe_until', now + lease)
  redis.call('PEXPIRE', breaker, ttl)
end
return {'', 0, ''}
