-- READ: read results and keep them.
--
-- KEYS  for each job: so:res
-- ARGV  1 result ttl ms  2 prefix of so:skill
-- Reply for each job {} or {line, body, receipt}
-- Reads so:res. Renews so:res and so:skill.

local reply = {}
for index, res in ipairs(KEYS) do
  local f = redis.call('HMGET', res, 'line', 'body', 'receipt', 'skill')
  reply[index] = {}
  if f[1] then
    reply[index] = {f[1], f[2], f[3]}
    redis.call('PEXPIRE', res, ARGV[1])
    if f[4] then redis.call('PEXPIRE', ARGV[2] .. f[4], ARGV[1]) end
  end
end
return reply
