-- CREATE: a new run with its first events.
--
-- KEYS  1 so:run:<run>  2 so:run:<run>:log  3 so:runs  4 so:runs:open
-- ARGV  1 run  2 meta (JSON)  3 status  4 prefix of so:run  5 prefix of so:quota, then the events
-- Reply {'created'}, {'exists'}, or {'quota', owner, open runs, limit} if the owner that the meta
--       names may have no further one
-- Writes all four keys. Reads so:run of the open runs and so:quota of the owner.

if redis.call('EXISTS', KEYS[1]) == 1 then return {'exists'} end
local refusal = quota_refusal(owner_in(ARGV[2]), KEYS[4], ARGV[4], ARGV[5])
if refusal then return refusal end
local created = now_us()
local now = math.floor(created / 1000)
local version = 0
for index = 6, #ARGV do
  version = version + 1
  redis.call('XADD', KEYS[2], version .. '-0', 'at', now, 'event', ARGV[index])
end
redis.call('HSET', KEYS[1], 'meta', ARGV[2], 'status', ARGV[3], 'version', version, 'created', created)
redis.call('ZADD', KEYS[3], created, ARGV[1])
redis.call('ZADD', KEYS[4], created, ARGV[1])
return {'created'}
