-- HOLD: allow no call on a credential for a while; a longer hold in force stays.
--
-- KEYS  1 so:hold:<credential>
-- ARGV  1 duration ms
-- Reply 1, or 0 if a longer hold stays
-- Writes so:hold.

if redis.call('PTTL', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 1
