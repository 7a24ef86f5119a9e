-- UNWANT: a run stops waiting for jobs.
--
-- KEYS  1 so:runlease:<run>, then for each job: so:wait  so:lease
-- ARGV  1 run  2 owner  3 fence  4 1 if jobs that a worker is at stay wanted, else 0
-- Reply 'ok' or 'fenced'
-- Reads so:runlease, so:lease. Writes so:wait.

if not leads(KEYS[1], ARGV[2], ARGV[3]) then return 'fenced' end
for index = 2, #KEYS, 2 do
  if ARGV[4] == '0' or redis.call('EXISTS', KEYS[index + 1]) == 0 then
    redis.call('SREM', KEYS[index], ARGV[1])
  end
end
return 'ok'
