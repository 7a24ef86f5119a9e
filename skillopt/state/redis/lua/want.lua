-- WANT: a run registers interest in jobs and learns which messages it must send.
--
-- KEYS  1 so:runlease:<run>  2 so:run:<run>:ledger
--       then for each job: so:res  so:lease  so:job  so:wait  so:spec  so:dead
-- ARGV  1 run  2 owner  3 fence  4 room  5 spec ttl ms  6 result ttl ms  7 resend ms
--       8 max lost claims  9 max quarantine claims  10 prefix of so:skill
--       11 prefix of so:done  12 doorbell length  13 doorbell ttl ms
--       then for each job: job  spec
-- Reply {'fenced'}, or {'ok', room left, answer...} with one answer for each job:
--       {status, line, lane, delay ms, reason, rounds}
-- Reads so:runlease, so:lease. Writes the ledger, so:job, so:wait, so:spec, so:dead; renews
-- so:res and so:skill; rings so:done of the waiters of a job found dead.

local ledger = KEYS[2]
local run = ARGV[1]
local room = tonumber(ARGV[4])
local spec_ttl, result_ttl, resend = ARGV[5], ARGV[6], tonumber(ARGV[7])
local max_lost, max_quarantined = tonumber(ARGV[8]), tonumber(ARGV[9])
local skill_prefix = ARGV[10]
local bell = {ARGV[11], ARGV[12], ARGV[13]}
local now = now_ms()

if not leads(KEYS[1], ARGV[2], ARGV[3]) then return {'fenced'} end

-- The line this run goes by: its ledger's, else the result's, which enters the ledger.
local function known_line(id, res)
  local line = redis.call('HGET', ledger, id)
  local stored = redis.call('HMGET', res, 'line', 'skill')
  if stored[1] then
    redis.call('PEXPIRE', res, result_ttl)
    if stored[2] then redis.call('PEXPIRE', skill_prefix .. stored[2], result_ttl) end
    if not line then
      line = stored[1]
      redis.call('HSET', ledger, id, line)
    end
  end
  return line
end

-- How many messages in a row this one is if it must be sent now, else nil.
local function due(sent, sends, claimed, held)
  if held or claimed == '1' or not sent then return 1 end
  if now >= tonumber(sent) + resend * math.pow(2, sends - 1) then return sends + 1 end
  return nil
end

local function answer(id, spec_text, res, lease, job, wait, spec, dead)
  local line = known_line(id, res)
  if line then return {'hit', line, 'normal', 0, '', 0} end

  local f = redis.call('HMGET', job, 'sent', 'sends', 'claimed', 'claims', 'qclaims', 'until',
    'reason', 'rounds')
  local rounds, last_reason = tonumber(f[8]) or 0, f[7] or ''
  local reason = redis.call('GET', dead)
  if reason then
    redis.call('PEXPIRE', dead, spec_ttl)
    redis.call('PEXPIRE', job, spec_ttl)
    return {'dead', '', 'normal', 0, reason, rounds}
  end
  if room <= 0 then return {'later', '', 'normal', 0, last_reason, rounds} end

  room = room - 1
  redis.call('SET', spec, spec_text, 'PX', spec_ttl)
  redis.call('SADD', wait, run)
  redis.call('PEXPIRE', wait, spec_ttl)
  redis.call('PEXPIRE', job, spec_ttl)

  local claims, quarantine_claims = tonumber(f[4]) or 0, tonumber(f[5]) or 0
  local lane = claims >= max_lost and 'quarantine' or 'normal'
  if redis.call('EXISTS', lease) == 1 then return {'leased', '', lane, 0, last_reason, rounds} end
  local held = tonumber(f[6])
  if held and held > now then return {'held', '', lane, held - now, last_reason, rounds} end
  if lane == 'quarantine' and quarantine_claims >= max_quarantined then
    room = room + 1
    reason = bury(dead, wait, job, claims, quarantine_claims, spec_ttl, bell)
    return {'dead', '', 'normal', 0, reason, rounds}
  end
  local sends = due(f[1], tonumber(f[2]) or 1, f[3], held)
  if not sends then return {'queued', '', lane, 0, last_reason, rounds} end
  redis.call('HSET', job, 'sent', now, 'sends', sends, 'claimed', '0')
  redis.call('HDEL', job, 'until')
  redis.call('PEXPIRE', job, spec_ttl)
  return {'send', '', lane, 0, last_reason, rounds}
end

local reply = {'ok', 0}
local k, a = 3, 14
while k <= #KEYS do
  reply[#reply + 1] = answer(ARGV[a], ARGV[a + 1], KEYS[k], KEYS[k + 1], KEYS[k + 2],
    KEYS[k + 3], KEYS[k + 4], KEYS[k + 5])
  k, a = k + 6, a + 2
end
reply[2] = room
return reply
