-- KEEP: keep slots of calls in flight from coming back.
--
-- KEYS  1 so:slots:<backend>:<credential>
-- ARGV  1 lease ms  2 ttl ms, then the slots
-- Reply the number of those still taken
-- Writes so:slots.

local now = now_ms()
local until_ms = now + tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local kept = 0
for index = 3, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[index]) then
    redis.call('ZADD', KEYS[1], until_ms, ARGV[index])
    kept = kept + 1
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return kept
