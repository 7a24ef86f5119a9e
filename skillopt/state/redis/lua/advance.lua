-- ADVANCE: mark the entries of a run's log up to one as done with, unless more are.
--
-- KEYS  1 so:run:<run>:notices
-- ARGV  1 number of the entry
-- Reply 1, or 0 if the run is not watched or is further
-- Writes so:run:<run>:notices.

local cursor = tonumber(redis.call('HGET', KEYS[1], 'cursor') or '')
if not cursor or cursor >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'cursor', ARGV[1])
return 1
