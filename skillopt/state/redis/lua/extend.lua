-- EXTEND: keep reservations of calls in flight from lapsing, with all who pay for them.
--
-- KEYS  1 so:run:<run>:meter  2 so:run:<run>:rsv  3 so:run:<run>:estimates
-- ARGV  1 run  2 prefix of so:budget  3 reservation ms, then the reservations
-- Reply the number of those that the run still has in force
-- Reads so:run:<run>:estimates. Writes the reservations of the run, its owner and its team.

local own = {KEYS[1], KEYS[2], KEYS[3]}
local until_ms = now_ms() + tonumber(ARGV[3])
local kept = 0
for index = 4, #ARGV do
  local id = ARGV[index]
  local estimate = redis.call('HGET', KEYS[3], id)
  if estimate then
    local _, _, _, _, owner, team = estimate_of(estimate)
    for _, payer in ipairs(payers(ARGV[1], own, ARGV[2], owner, team)) do
      if redis.call('ZSCORE', payer.reservations, payer.mark .. id) then
        redis.call('ZADD', payer.reservations, until_ms, payer.mark .. id)
        if not payer.is_shared then kept = kept + 1 end
      end
    end
  end
end
return kept
