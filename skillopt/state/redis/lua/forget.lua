-- FORGET: remove results and this run's ledger lines of them.
--
-- KEYS  1 so:runlease:<run>  2 so:run:<run>:ledger, then for each job: so:res
-- ARGV  1 owner  2 fence  3 prefix of so:skill, then for each job: job
-- Reply 'ok' or 'fenced'
-- Reads so:runlease. Writes so:res, so:skill, the ledger.

if not leads(KEYS[1], ARGV[1], ARGV[2]) then return 'fenced' end
for index = 3, #KEYS do
  local res, job = KEYS[index], ARGV[index + 1]
  local skill = redis.call('HGET', res, 'skill')
  if skill then redis.call('SREM', ARGV[3] .. skill, job) end
  redis.call('DEL', res)
  redis.call('HDEL', KEYS[2], job)
end
return 'ok'
