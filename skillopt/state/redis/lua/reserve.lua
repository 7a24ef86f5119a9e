-- RESERVE: reserve one call of a run before it is made, with all who pay for it or with none.
--
-- KEYS  1 so:run:<run>:meter  2 so:run:<run>:rsv  3 so:run:<run>:estimates
--       4 so:settled:<run>:<reservation>  5 so:job
-- ARGV  1 run  2 reservation  3 role  4 calls  5 tokens  6 micro usd  7 1 if it is priced, else 0
--       8 reservation ms  9 prefix of so:budget  10 backend  11 prefix of so:spend
--       12 a day ms  13 ttl of so:spend ms
-- Reply {} if granted (also when it was before), else {scope, cap, 'final' | 'held'}: the cap is
--       calls, tokens or usd; held if it would fit on top of what is spent, without the calls in
--       flight
-- Reads so:settled. Writes the other keys (so:job only if it exists) and the keys of the run's
-- owner and team; so:spend of today, if a reservation lapsed.

local id, role = ARGV[2], ARGV[3]
local calls, tokens, money = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local now = now_ms()
local shares = redis.call('HMGET', KEYS[1], 'owner', 'team')
local owner, team = shares[1] or '', shares[2] or ''
local all = payers(ARGV[1], {KEYS[1], KEYS[2], KEYS[3]}, ARGV[9], owner, team)
for _, payer in ipairs(all) do settle_lapsed(payer, now, {ARGV[11], ARGV[12], ARGV[13]}) end
if redis.call('EXISTS', KEYS[4]) == 1 or redis.call('HEXISTS', KEYS[3], id) == 1 then return {} end

local function total(meter, ...)
  local sum = 0
  for _, value in ipairs(redis.call('HMGET', meter, ...)) do sum = sum + (tonumber(value) or 0) end
  return sum
end

-- What a cap says to an amount on top of those that are spent and those that are reserved.
local function verdict(meter, cap, spent, reserved, wanted)
  local limit = tonumber(redis.call('HGET', meter, cap) or '')
  if not limit then return nil end
  if spent + wanted > limit then return 'final' end
  if spent + reserved + wanted > limit then return 'held' end
  return nil
end

local function refusals(payer)
  local meter = payer.meter
  -- A reserved call will be a call, whatever it takes: no room comes back.
  local made = total(meter, 'calls_target', 'calls_optimizer', 'calls_judge', 'reserved_calls')
  return {
    {payer.scope, 'calls', verdict(meter, 'cap_calls', made, 0, calls)},
    {payer.scope, 'tokens', verdict(meter, 'cap_tokens',
      total(meter, 'input_tokens', 'output_tokens', 'unconfirmed_tokens'),
      total(meter, 'reserved_tokens'), tokens)},
    {payer.scope, 'usd', verdict(meter, 'cap_micro_usd',
      total(meter, 'micro_usd', 'unconfirmed_micro_usd'),
      total(meter, 'reserved_micro_usd'), money)},
  }
end

local held
for _, payer in ipairs(all) do
  for _, refusal in ipairs(refusals(payer)) do
    if refusal[3] == 'final' then
      redis.call('HSET', KEYS[1], 'refused', refusal[1] .. ' ' .. refusal[2])
      return refusal
    end
    if refusal[3] then held = held or refusal end
  end
end
if held then return held end

local estimate = table.concat(
  {role, ARGV[4], ARGV[5], ARGV[6], owner, team, ARGV[10], ARGV[7]}, ':')
for _, payer in ipairs(all) do
  redis.call('ZADD', payer.reservations, now + tonumber(ARGV[8]), payer.mark .. id)
  redis.call('HSET', payer.estimates, payer.mark .. id, estimate)
  add_amounts(payer.meter, 'reserved_', 1, calls, tokens, money)
  if ARGV[7] == '0' then redis.call('HINCRBY', payer.meter, 'unpriced_calls', calls) end
end
if redis.call('EXISTS', KEYS[5]) == 1 then redis.call('HINCRBY', KEYS[5], 'calls', calls) end
return {}
