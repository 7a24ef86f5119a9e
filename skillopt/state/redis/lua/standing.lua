-- STANDING: read how things stand with a backend.
--
-- KEYS  1 so:hold:<credential>  2 so:slots:<backend>:<credential>
--       3 so:aimd:<backend>:<credential>  4 so:breaker:<endpoint>
-- ARGV  1 least calls at a time  2 most calls at a time, or ''
-- Reply {calls in flight, calls allowed at a time or -1, closed | open | probing, hold ms}
-- Reads all four keys.

local now = now_ms()
local in_flight = redis.call('ZCOUNT', KEYS[2], now, '+inf')
local open_until = tonumber(redis.call('HGET', KEYS[4], 'open_until') or '')
local state = 'closed'
if open_until then state = open_until > now and 'open' or 'probing' end
return {in_flight, allowed_slots(KEYS[3], ARGV[1], ARGV[2]) or -1, state,
  math.max(0, redis.call('PTTL', KEYS[1]))}
