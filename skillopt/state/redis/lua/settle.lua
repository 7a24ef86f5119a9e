-- SETTLE: replace a reservation by what its call took, with all who pay for it.
--
-- KEYS  1 so:run:<run>:meter  2 so:run:<run>:rsv  3 so:run:<run>:estimates
--       4 so:settled:<run>:<reservation>
-- ARGV  1 run  2 reservation  3 'known', or 'unknown' for a call that is counted at its estimate,
--       as unconfirmed  4 input tokens  5 output tokens  6 micro usd  7 tokens of these that are
--       estimated  8 reservation ms  9 prefix of so:budget  10 prefix of so:spend  11 a day ms
--       12 ttl of so:spend ms
-- Reply 1, or 0 if there is nothing to settle (settled before, or never granted)
-- Writes all four keys, so:spend of today, and the keys of those who were to pay when it was
-- reserved.

local id = ARGV[2]
local estimate = redis.call('HGET', KEYS[3], id)
if not estimate then return 0 end
local role, calls, tokens, money, owner, team = estimate_of(estimate)
local book = {ARGV[10], ARGV[11], ARGV[12]}

local function settle(payer)
  local meter, place = payer.meter, 'unconfirmed_'
  if redis.call('ZREM', payer.reservations, payer.mark .. id) == 1 then
    place = 'reserved_'
    redis.call('HINCRBY', meter, 'calls_' .. role, calls)
    if not payer.is_shared then count_calls(book, payer.run, estimate) end
  end
  add_amounts(meter, place, -1, calls, tokens, money)
  redis.call('HINCRBY', meter, 'input_tokens', ARGV[4])
  redis.call('HINCRBY', meter, 'output_tokens', ARGV[5])
  redis.call('HINCRBY', meter, 'micro_usd', ARGV[6])
  redis.call('HINCRBY', meter, 'micro_usd_' .. role, ARGV[6])
  redis.call('HINCRBY', meter, 'estimated_tokens', ARGV[7])
  if not payer.is_shared then
    count_spending(book, payer.run, estimate,
      {input_tokens = ARGV[4], output_tokens = ARGV[5], micro_usd = ARGV[6]})
  end
end

for _, payer in ipairs(payers(ARGV[1], {KEYS[1], KEYS[2], KEYS[3]}, ARGV[9], owner, team)) do
  if ARGV[3] == 'known' then settle(payer) else lapse(payer, payer.mark .. id, book) end
  redis.call('HDEL', payer.estimates, payer.mark .. id)
end
redis.call('SET', KEYS[4], '1', 'PX', ARGV[8])
return 1
