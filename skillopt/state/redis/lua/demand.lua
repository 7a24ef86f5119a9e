-- DEMAND: say what a run wants of a backend, and read what all of them want.
--
-- KEYS  1 so:share:<backend>
-- ARGV  1 prefix of so:quota  2 demand ms  3 run, '' to read only  4 its demand (JSON)
-- Reply for each run: {run, demand, since ms, its owner's max_window or ''}
-- Writes so:share:<backend>, and drops the runs that were not heard of for so long.
-- Reads so:quota of the owners.

local share, ttl = KEYS[1], tonumber(ARGV[2])
local now = now_ms()

local function parts(value) return string.match(value, '^(%-?%d+):(%-?%d+):(.*)$') end

if ARGV[3] ~= '' then
  local before = redis.call('HGET', share, ARGV[3])
  local since = now
  if before then
    local until_ms, first = parts(before)
    if tonumber(until_ms or 0) > now then since = first end
  end
  redis.call('HSET', share, ARGV[3], string.format('%.0f', now + ttl) .. ':'
    .. string.format('%.0f', since) .. ':' .. ARGV[4])
  redis.call('PEXPIRE', share, ttl)
end

local reply, known = {}, redis.call('HGETALL', share)
for index = 1, #known, 2 do
  local run = known[index]
  local until_ms, since, demand = parts(known[index + 1])
  if not until_ms or tonumber(until_ms) <= now then
    redis.call('HDEL', share, run)
  else
    local read, wanted = pcall(cjson.decode, demand)
    local owner = read and type(wanted) == 'table' and wanted.owner or ''
    local most = redis.call('HGET', ARGV[1] .. tostring(owner), 'max_window')
    reply[#reply + 1] = {run, demand, tonumber(since), most or ''}
  end
end
return reply
