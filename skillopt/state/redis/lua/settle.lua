-- SETTLE: replace a reservation by what its call took.
--
-- KEYS  1 so:run:<run>:meter  2 so:run:<run>:rsv  3 so:run:<run>:estimates
--       4 so:settled:<run>:<reservation>
-- ARGV  1 reservation  2 input tokens  3 output tokens  4 micro usd  5 reservation ms
-- Reply 1, or 0 if there is nothing to settle (settled before, or never granted)
-- Writes all four keys.

local meter, id = KEYS[1], ARGV[1]
local estimate = redis.call('HGET', KEYS[3], id)
if not estimate then return 0 end
local role, calls, tokens, money = estimate_of(estimate)
local place = 'unconfirmed_'
if redis.call('ZREM', KEYS[2], id) == 1 then
  place = 'reserved_'
  redis.call('HINCRBY', meter, 'calls_' .. role, calls)
end
redis.call('HINCRBY', meter, place .. 'calls', 0 - calls)
redis.call('HINCRBY', meter, place .. 'tokens', 0 - tokens)
redis.call('HINCRBY', meter, place .. 'micro_usd', 0 - money)
redis.call('HINCRBY', meter, 'input_tokens', ARGV[2])
redis.call('HINCRBY', meter, 'output_tokens', ARGV[3])
redis.call('HINCRBY', meter, 'micro_usd', ARGV[4])
redis.call('HDEL', KEYS[3], id)
redis.call('SET', KEYS[4], '1', 'PX', ARGV[5])
return 1
