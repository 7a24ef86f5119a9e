-- TOLD: mark news of a run as told, if it is watched.
--
-- KEYS  1 so:run:<run>:notices
-- ARGV  1 field
-- Reply 1, or 0 if the run is not watched
-- Writes so:run:<run>:notices.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], '1')
return 1
