-- REMOVE: take away all that lives as long as a run.
--
-- KEYS  1 so:run:<run>  2 so:runlease:<run>  3 so:runs  4 so:runs:open, then the run's other keys
-- ARGV  1 run, then the statuses of runs that may go
-- Reply {keys removed, bytes they took}, or {-1, 0} if the run has another status or a lead
-- Writes all keys.

local held = redis.call('HMGET', KEYS[2], 'owner', 'until')
local led = held[1] and tonumber(held[2]) > now_ms()
local status, may_go = redis.call('HGET', KEYS[1], 'status'), false
for index = 2, #ARGV do may_go = may_go or status == ARGV[index] end
if led or not may_go then return {-1, 0} end

local removed, bytes = 0, 0
local function remove(key)
  -- Some providers do not answer this.
  local size = redis.pcall('MEMORY', 'USAGE', key)
  if type(size) == 'number' then bytes = bytes + size end
  removed = removed + redis.call('DEL', key)
end
for index = 5, #KEYS do remove(KEYS[index]) end
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
remove(KEYS[2])
remove(KEYS[1])
return {removed, bytes}
