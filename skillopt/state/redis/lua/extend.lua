-- EXTEND: keep reservations of calls in flight from lapsing.
--
-- KEYS  1 so:run:<run>:rsv
-- ARGV  1 reservation ms, then the reservations
-- Reply the number of those still in force
-- Writes so:run:<run>:rsv.

local until_ms = now_ms() + tonumber(ARGV[1])
local kept = 0
for index = 2, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[index]) then
    redis.call('ZADD', KEYS[1], until_ms, ARGV[index])
    kept = kept + 1
  end
end
return kept
