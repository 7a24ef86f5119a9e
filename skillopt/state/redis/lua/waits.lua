-- WAITS: read what calls of backends had to wait for just now.
--
-- KEYS  so:throttled:<backend> of each backend
-- ARGV  none
-- Reply for each backend {why, ms left, detail}, or {} if none waited
-- Reads so:throttled.

local now = now_ms()
local reply = {}
for index, key in ipairs(KEYS) do
  local until_ms, why, detail = string.match(redis.call('GET', key) or '', '^(%d+):(%a+):(.*)$')
  reply[index] = why and {why, math.max(0, tonumber(until_ms) - now), detail} or {}
end
return reply
