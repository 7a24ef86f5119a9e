-- PIN: say under which hash a run's plan is stored.
--
-- KEYS  1 so:runlease:<run>  2 so:run:<run>
-- ARGV  1 owner  2 fence  3 hash
-- Reply 'ok' or 'fenced'
-- Reads so:runlease. Writes the run's meta.

if not leads(KEYS[1], ARGV[1], ARGV[2]) then return 'fenced' end
local meta = cjson.decode(redis.call('HGET', KEYS[2], 'meta'))
meta['plan'] = ARGV[3]
redis.call('HSET', KEYS[2], 'meta', cjson.encode(meta))
return 'ok'
