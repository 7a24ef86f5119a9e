-- RENEW: a worker keeps its leases.
--
-- KEYS  for each job: so:lease  so:wait
-- ARGV  1 lease ms, then for each job: owner
-- Reply one of 'ok', 'lost', 'unwanted' for each job; an unwanted one is renewed too
-- Reads so:wait. Writes so:lease.

local reply = {}
for index = 1, #KEYS, 2 do
  local lease, owner = KEYS[index], ARGV[(index + 1) / 2 + 1]
  local status = 'lost'
  if redis.call('GET', lease) == owner then
    redis.call('PEXPIRE', lease, ARGV[1])
    status = redis.call('SCARD', KEYS[index + 1]) > 0 and 'ok' or 'unwanted'
  end
  reply[#reply + 1] = status
end
return reply
