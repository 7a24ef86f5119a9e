-- RELEASE: a worker gives a job back unharmed.
--
-- KEYS  1 so:lease  2 so:job  3 so:wait
-- ARGV  1 owner  2 delay ms  3 reason  4 1 if it counts as a round, else 0
--       5 run that stops waiting, or ''  6 spec ttl ms
--       7 prefix of so:done  8 doorbell length  9 doorbell ttl ms
-- Reply 1, or 0 if the lease is not ours
-- Writes so:lease, so:job, so:wait; rings so:done of every waiter.

local lease, job, wait = KEYS[1], KEYS[2], KEYS[3]
if redis.call('GET', lease) ~= ARGV[1] then return 0 end
redis.call('DEL', lease)
uncount_claim(job)
redis.call('HSET', job, 'until', now_ms() + tonumber(ARGV[2]), 'reason', ARGV[3])
redis.call('HINCRBY', job, 'rounds', ARGV[4])
redis.call('PEXPIRE', job, ARGV[6])
ring({ARGV[7], ARGV[8], ARGV[9]}, redis.call('SMEMBERS', wait))
if ARGV[5] ~= '' then redis.call('SREM', wait, ARGV[5]) end
return 1
