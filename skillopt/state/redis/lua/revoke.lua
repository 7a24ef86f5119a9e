-- REVOKE: end a token.
--
-- KEYS  1 so:tokens
-- ARGV  1 prefix of tokens  2 name
-- Reply 1 revoked, 0 none of that name was in force
-- Writes so:tokens and the token of that name.

local held = redis.call('HGET', KEYS[1], ARGV[2])
if not held then return 0 end
redis.call('HDEL', KEYS[1], ARGV[2])
return redis.call('DEL', ARGV[1] .. held)
