-- STEP: append events to a run's log. The only way a run changes.
--
-- KEYS  1 so:runlease:<run>  2 so:run:<run>  3 so:run:<run>:log  4 so:runs:open
-- ARGV  1 run  2 owner  3 fence  4 version the caller read  5 new status  6 1 if open, else 0
--       7 prefix of so:done  8 doorbell length  9 doorbell ttl ms
--       10 prefix of so:run  11 prefix of so:quota, then the events
-- Reply {'ok', new version}, {'fenced'} or {'stale', present version}; -1 if there is no such run;
--       {'quota', owner, open runs, limit} if the run was not open, shall be, and its owner may
--       have no further one
-- Reads so:runlease, so:run of the open runs and so:quota of the owner. Writes the run, its log and so:runs:open; rings so:done of the run.

if not leads(KEYS[1], ARGV[2], ARGV[3]) then return {'fenced'} end
local f = redis.call('HMGET', KEYS[2], 'version', 'created', 'meta')
local version = tonumber(f[1] or '-1')
if version ~= tonumber(ARGV[4]) then return {'stale', version} end
if ARGV[6] == '1' and not redis.call('ZSCORE', KEYS[4], ARGV[1]) then
  local refusal = quota_refusal(owner_in(f[3]), KEYS[4], ARGV[10], ARGV[11])
  if refusal then return refusal end
end

local now = now_ms()
for index = 12, #ARGV do
  version = version + 1
  redis.call('XADD', KEYS[3], version .. '-0', 'at', now, 'event', ARGV[index])
end
redis.call('HSET', KEYS[2], 'version', version, 'status', ARGV[5])
if ARGV[6] == '1' then
  redis.call('ZADD', KEYS[4], f[2], ARGV[1])
else
  redis.call('ZREM', KEYS[4], ARGV[1])
end
ring({ARGV[7], ARGV[8], ARGV[9]}, {ARGV[1]})
return {'ok', version}
