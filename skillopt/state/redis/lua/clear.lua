-- CLEAR: remove results, but for those that a spared run goes by.
--
-- KEYS  so:run:<run>:ledger of each spared run, then for each job: so:res
-- ARGV  1 number of spared runs  2 prefix of so:skill, then for each job: job
-- Reply for each job 1 removed, 0 kept, -1 there was none
-- Reads the ledgers. Writes so:res, so:skill.

local spared, skill_prefix = tonumber(ARGV[1]), ARGV[2]

local function is_in_a_ledger(job)
  for index = 1, spared do
    if redis.call('HEXISTS', KEYS[index], job) == 1 then return true end
  end
  return false
end

local reply = {}
for index = spared + 1, #KEYS do
  local res, job = KEYS[index], ARGV[index - spared + 2]
  local skill = redis.call('HGET', res, 'skill')
  if redis.call('EXISTS', res) == 0 then
    reply[#reply + 1] = -1
  elseif is_in_a_ledger(job) then
    reply[#reply + 1] = 0
  else
    if skill then redis.call('SREM', skill_prefix .. skill, job) end
    redis.call('DEL', res)
    reply[#reply + 1] = 1
  end
end
return reply
