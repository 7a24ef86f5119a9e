-- COMMIT: write results. The only writer of so:res; the first writer of each wins.
--
-- KEYS  for each result: so:res  so:lease  so:job  so:wait  so:dead  so:spec
-- ARGV  1 owner  2 result ttl ms  3 prefix of so:skill
--       4 prefix of so:done  5 doorbell length  6 doorbell ttl ms
--       then for each result: job  line  body  receipt  skill or ''
-- Reply for each result 1 if the stored one is this owner's, else 0
-- Writes so:res, so:skill; drops so:lease (if ours), so:job, so:wait, so:dead; moves so:spec into
-- the result; rings so:done once for each run that waited.

local owner, ttl, skill_prefix = ARGV[1], ARGV[2], ARGV[3]
local bell = {ARGV[4], ARGV[5], ARGV[6]}
local reply, told, runs = {}, {}, {}

local k, a = 1, 7
while k <= #KEYS do
  local res, lease, wait = KEYS[k], KEYS[k + 1], KEYS[k + 3]
  local skill = ARGV[a + 4]
  if redis.call('HSETNX', res, 'line', ARGV[a + 1]) == 1 then
    redis.call('HSET', res, 'body', ARGV[a + 2], 'receipt', ARGV[a + 3], 'owner', owner,
      'at', now_ms())
    local spec = redis.call('GET', KEYS[k + 5])
    if spec then redis.call('HSET', res, 'spec', spec) end
    if skill ~= '' then
      redis.call('HSET', res, 'skill', skill)
      redis.call('SADD', skill_prefix .. skill, ARGV[a])
      redis.call('PEXPIRE', skill_prefix .. skill, ttl)
    end
    redis.call('PEXPIRE', res, ttl)
  end
  reply[#reply + 1] = redis.call('HGET', res, 'owner') == owner and 1 or 0
  if redis.call('GET', lease) == owner then redis.call('DEL', lease) end
  for _, run in ipairs(redis.call('SMEMBERS', wait)) do
    if not told[run] then
      told[run] = true
      runs[#runs + 1] = run
    end
  end
  redis.call('DEL', KEYS[k + 2], wait, KEYS[k + 4], KEYS[k + 5])
  k, a = k + 6, a + 5
end
ring(bell, runs)
return reply
