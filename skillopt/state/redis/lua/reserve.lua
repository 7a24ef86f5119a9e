-- RESERVE: reserve one call of a run before it is made.
--
-- KEYS  1 so:run:<run>:meter  2 so:run:<run>:rsv  3 so:run:<run>:estimates
--       4 so:settled:<run>:<reservation>  5 so:job
-- ARGV  1 reservation  2 role  3 calls  4 tokens  5 micro usd  6 reservation ms
-- Reply '' if granted (also when it was before), else the cap that refuses: calls, tokens, usd
-- Reads so:settled. Writes the other keys; so:job only if it exists.

local meter, reservations, estimates = KEYS[1], KEYS[2], KEYS[3]
local id, role = ARGV[1], ARGV[2]
local now = now_ms()
settle_lapsed(meter, reservations, estimates, now)
if redis.call('EXISTS', KEYS[4]) == 1 or redis.call('HEXISTS', estimates, id) == 1 then return '' end

local function total(...)
  local sum = 0
  for _, value in ipairs(redis.call('HMGET', meter, ...)) do sum = sum + (tonumber(value) or 0) end
  return sum
end

local function refuses(cap, used, wanted)
  local limit = tonumber(redis.call('HGET', meter, cap) or '')
  return limit and used + tonumber(wanted) > limit
end

local refused = ''
if refuses('cap_calls',
    total('calls_target', 'calls_optimizer', 'calls_judge', 'reserved_calls'), ARGV[3]) then
  refused = 'calls'
elseif refuses('cap_tokens', total('input_tokens', 'output_tokens', 'unconfirmed_tokens',
    'reserved_tokens'), ARGV[4]) then
  refused = 'tokens'
elseif refuses('cap_micro_usd',
    total('micro_usd', 'unconfirmed_micro_usd', 'reserved_micro_usd'), ARGV[5]) then
  refused = 'usd'
end
if refused ~= '' then
  redis.call('HSET', meter, 'refused', refused)
  return refused
end

redis.call('ZADD', reservations, now + tonumber(ARGV[6]), id)
redis.call('HSET', estimates, id, table.concat({role, ARGV[3], ARGV[4], ARGV[5]}, ':'))
redis.call('HINCRBY', meter, 'reserved_calls', ARGV[3])
redis.call('HINCRBY', meter, 'reserved_tokens', ARGV[4])
redis.call('HINCRBY', meter, 'reserved_micro_usd', ARGV[5])
if redis.call('EXISTS', KEYS[5]) == 1 then redis.call('HINCRBY', KEYS[5], 'calls', ARGV[3]) end
return ''
