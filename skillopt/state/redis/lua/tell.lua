-- TELL: take the telling of a run's news upon oneself for a while.
--
-- KEYS  1 so:telling:<run>
-- ARGV  1 owner  2 ttl ms
-- Reply 1, or 0 while another does it
-- Writes so:telling.

local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
