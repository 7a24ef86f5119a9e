-- ABANDON: a worker stops work that nobody wants.
--
-- KEYS  1 so:lease  2 so:job  3 so:wait
-- ARGV  1 owner
-- Reply 1, or 0 if the lease is not ours or somebody waits
-- Reads so:wait. Writes so:lease, so:job.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('SCARD', KEYS[3]) > 0 then return 0 end
redis.call('DEL', KEYS[1])
uncount_claim(KEYS[2])
return 1
