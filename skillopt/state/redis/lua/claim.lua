-- CLAIM: a worker asks to run the job that a message named.
--
-- KEYS  1 so:res  2 so:dead  3 so:lease  4 so:spec  5 so:wait  6 so:job  7 so:run:<payer>:meter
-- ARGV  1 owner  2 lane  3 lease ms  4 spec ttl ms  5 max lost claims
--       6 max quarantine claims  7 prefix of so:done  8 doorbell length  9 doorbell ttl ms
--       10 the run that pays
-- Reply {'done' | 'dead' | 'busy' | 'unknown' | 'unwanted' | 'quarantined'}
--       or {'run', spec, repaid calls, number of the claim, ms since the message was sent (-1: not
--       known)}; the holder of the lease gets the same again, but the last
-- Reads so:res, so:spec, so:wait. Writes so:lease, so:job, so:dead, the meter; rings so:done.

local lease, job, wait, meter = KEYS[3], KEYS[6], KEYS[5], KEYS[7]
local owner, lane = ARGV[1], ARGV[2]
local spec_ttl = ARGV[4]
local bell = {ARGV[7], ARGV[8], ARGV[9]}

if redis.call('HEXISTS', KEYS[1], 'line') == 1 then return {'done'} end
if redis.call('EXISTS', KEYS[2]) == 1 then return {'dead'} end

local spec = redis.call('GET', KEYS[4])
local holder = redis.call('GET', lease)
if holder == owner and spec then
  local held = redis.call('HMGET', job, 'repaid', 'claims', 'qclaims')
  local number = (tonumber(held[2]) or 0) + (tonumber(held[3]) or 0)
  return {'run', spec, tonumber(held[1]) or 0, number, -1}
end
if holder then return {'busy'} end

-- The message is used up: whoever wants the job next must send another one.
if not spec then
  redis.call('HDEL', job, 'sent', 'sends')
  return {'unknown'}
end
if redis.call('SISMEMBER', wait, ARGV[10]) == 0 then
  redis.call('HDEL', job, 'sent', 'sends')
  ring(bell, redis.call('SMEMBERS', wait))
  return {'unwanted'}
end

local f = redis.call('HMGET', job, 'claims', 'qclaims', 'calls', 'sent')
local claims, quarantine_claims = tonumber(f[1]) or 0, tonumber(f[2]) or 0
if lane == 'normal' and claims >= tonumber(ARGV[5]) then
  ring(bell, redis.call('SMEMBERS', wait))
  return {'quarantined'}
end
if lane == 'quarantine' and quarantine_claims >= tonumber(ARGV[6]) then
  bury(KEYS[2], wait, job, claims, quarantine_claims, spec_ttl, bell)
  return {'dead'}
end

local repaid = tonumber(f[3]) or 0
redis.call('SET', lease, owner, 'PX', ARGV[3])
redis.call('HINCRBY', job, lane == 'quarantine' and 'qclaims' or 'claims', 1)
redis.call('HSET', job, 'claimed', '1', 'claim_lane', lane, 'calls', 0, 'repaid', repaid,
  'by', owner)
redis.call('HDEL', job, 'until')
redis.call('PEXPIRE', job, spec_ttl)
redis.call('HINCRBY', meter, 'executions', 1)
if repaid > 0 then redis.call('HINCRBY', meter, 'repaid_calls', repaid) end
local sent = tonumber(f[4])
local waited = sent and math.max(0, now_ms() - sent) or -1
return {'run', spec, repaid, claims + quarantine_claims + 1, waited}
