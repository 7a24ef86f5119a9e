-- LEAD: take or keep the ownership of a run.
--
-- KEYS  1 so:runlease:<run>
-- ARGV  1 owner  2 lead ms
-- Reply the fence, or 0 while somebody else holds the run
-- Writes so:runlease.

local f = redis.call('HMGET', KEYS[1], 'owner', 'until', 'fence')
local now = now_ms()
local fence = f[3]
if f[1] ~= ARGV[1] then
  if f[1] and tonumber(f[2]) > now then return 0 end
  fence = redis.call('HINCRBY', KEYS[1], 'fence', 1)
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', now + tonumber(ARGV[2]))
return tonumber(fence)
