-- RESTORE: store a run with its whole log, at the times it had.
--
-- KEYS  1 so:run:<run>  2 so:run:<run>:log  3 so:runs  4 so:runs:open  5 so:run:<run>:meter
-- ARGV  1 run  2 meta (JSON)  3 status  4 1 if open, else 0  5 time of creation (us)
--       6 how many fields of the meter follow, then each with its value
--       then for each entry of the log: at (ms)  event
-- Reply 1, or 0 if the run exists
-- Writes all five keys.

if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('DEL', KEYS[2])
local a = 7
for _ = 1, tonumber(ARGV[6]) do
  redis.call('HSET', KEYS[5], ARGV[a], ARGV[a + 1])
  a = a + 2
end
local version = 0
for index = a, #ARGV, 2 do
  version = version + 1
  redis.call('XADD', KEYS[2], version .. '-0', 'at', ARGV[index], 'event', ARGV[index + 1])
end
redis.call('HSET', KEYS[1], 'meta', ARGV[2], 'status', ARGV[3], 'version', version,
  'created', ARGV[5])
redis.call('ZADD', KEYS[3], ARGV[5], ARGV[1])
if ARGV[4] == '1' then redis.call('ZADD', KEYS[4], ARGV[5], ARGV[1]) end
return 1
