-- QUOTAS: read what owners may have, and the runs that they have open.
--
-- KEYS  1 so:quotas  2 so:runs:open
-- ARGV  1 prefix of so:run  2 prefix of so:quota  3 an owner, '' for all that have a limit or
--       an open run
-- Reply for each owner: {owner, max_runs or '', max_window or '', open runs}
-- Reads so:run of the open runs and so:quota of the owners.

local counts = open_runs_by_owner(KEYS[2], ARGV[1])
local owners = {}
if ARGV[3] ~= '' then
  owners[ARGV[3]] = true
else
  for _, owner in ipairs(redis.call('SMEMBERS', KEYS[1])) do owners[owner] = true end
  for owner in pairs(counts) do owners[owner] = true end
end

local reply = {}
for owner in pairs(owners) do
  local limits = redis.call('HMGET', ARGV[2] .. owner, 'max_runs', 'max_window')
  reply[#reply + 1] = {owner, limits[1] or '', limits[2] or '', counts[owner] or 0}
end
return reply
