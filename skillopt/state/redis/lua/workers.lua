-- WORKERS: read every live worker.
--
-- KEYS  1 so:fleet
-- ARGV  1 prefix of so:bk
-- Reply the announcements (JSON)
-- Reads so:bk. Removes from so:fleet the workers that are gone.

local reply = {}
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  -- A key of another type is no worker either.
  local info = redis.pcall('GET', ARGV[1] .. name)
  if type(info) == 'string' then
    reply[#reply + 1] = info
  else
    redis.call('SREM', KEYS[1], name)
  end
end
return reply
