-- UNWANT: a run stops waiting for jobs.
--
-- KEYS  1 so:runlease:<run>, then for each job: so:wait
-- ARGV  1 run  2 owner  3 fence
-- Reply 'ok' or 'fenced'
-- Reads so:runlease. Writes so:wait.

if not leads(KEYS[1], ARGV[2], ARGV[3]) then return 'fenced' end
for index = 2, #KEYS do redis.call('SREM', KEYS[index], ARGV[1]) end
return 'ok'
