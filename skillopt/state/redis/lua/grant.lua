-- GRANT: let a token in, unless another one of its name is in force.
--
-- KEYS  1 so:tokens  2 so:token:<sha256>
-- ARGV  1 prefix of tokens  2 its sha256  3 name  4 role  5 owner  6 team  7 TTL (ms; 0: none)
-- Reply 1 granted (also if it was already), 0 the name is taken
-- Writes both keys; reads the token that has the name.

local held = redis.call('HGET', KEYS[1], ARGV[3])
if held == ARGV[2] and redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
if held and redis.call('EXISTS', ARGV[1] .. held) == 1 then return 0 end
local now = now_ms()
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'name', ARGV[3], 'role', ARGV[4], 'owner', ARGV[5], 'team', ARGV[6],
  'created', now)
local ttl = tonumber(ARGV[7])
if ttl > 0 then
  redis.call('HSET', KEYS[2], 'expires', now + ttl)
  redis.call('PEXPIRE', KEYS[2], ttl)
end
redis.call('HSET', KEYS[1], ARGV[3], ARGV[2])
return 1
