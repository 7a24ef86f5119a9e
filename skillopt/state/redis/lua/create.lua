-- CREATE: a new run with its first events.
--
-- KEYS  1 so:run:<run>  2 so:run:<run>:log  3 so:runs  4 so:runs:open
-- ARGV  1 run  2 meta (JSON)  3 status, then the events
-- Reply 1, or 0 if the run exists
-- Writes all four keys.

if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local created = now_us()
local now = math.floor(created / 1000)
local version = 0
for index = 4, #ARGV do
  version = version + 1
  redis.call('XADD', KEYS[2], version .. '-0', 'at', now, 'event', ARGV[index])
end
redis.call('HSET', KEYS[1], 'meta', ARGV[2], 'status', ARGV[3], 'version', version, 'created', created)
redis.call('ZADD', KEYS[3], created, ARGV[1])
redis.call('ZADD', KEYS[4], created, ARGV[1])
return 1
