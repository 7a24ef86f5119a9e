-- REVIVE: forget what went wrong with jobs, whoever leads the runs that wait for them.
--
-- KEYS  for each job: so:job  so:dead  so:lease  so:wait
-- ARGV  1 prefix of so:done  2 doorbell length  3 doorbell ttl ms
-- Reply how many jobs were left alone because a worker is at them
-- Reads so:lease, so:wait. Writes so:job (keeps the calls that were paid) and so:dead; rings so:done
-- of every waiter.

local bell = {ARGV[1], ARGV[2], ARGV[3]}
local left = 0
for index = 1, #KEYS, 4 do
  if redis.call('EXISTS', KEYS[index + 2]) == 1 then
    left = left + 1
  else
    forget_trouble(KEYS[index], KEYS[index + 1])
    ring(bell, redis.call('SMEMBERS', KEYS[index + 3]))
  end
end
return left
