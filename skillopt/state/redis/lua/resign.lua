-- RESIGN: give the ownership of a run up.
--
-- KEYS  1 so:runlease:<run>
-- ARGV  1 owner  2 fence
-- Reply 1, or 0 if it is not ours
-- Writes so:runlease; the fence stays, so that the next one is higher.

if not leads(KEYS[1], ARGV[1], ARGV[2]) then return 0 end
redis.call('HDEL', KEYS[1], 'owner', 'until')
return 1
