-- SPEND: read the meter of a run, an owner or a team, with lapsed reservations settled first.
--
-- KEYS  1 its meter  2 its reservations  3 its estimates
-- ARGV  1 the run, '' for an owner or a team  2 'all' to settle, with all who pay, what has not
--       lapsed yet as well, else ''  3 prefix of so:budget  4 prefix of so:spend  5 a day ms
--       6 ttl of so:spend ms
-- Reply the fields and values of the meter, in turn
-- Writes all three keys, and so:spend of today for a run, if something lapsed; with 'all', those of
-- the run's owner and team too.

local book = {ARGV[4], ARGV[5], ARGV[6]}
local own = {KEYS[1], KEYS[2], KEYS[3]}
if ARGV[2] == 'all' then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    local _, _, _, _, owner, team = estimate_of(redis.call('HGET', KEYS[3], id))
    for _, payer in ipairs(payers(ARGV[1], own, ARGV[3], owner, team)) do
      lapse(payer, payer.mark .. id, book)
    end
  end
else
  settle_lapsed({meter = KEYS[1], reservations = KEYS[2], estimates = KEYS[3],
    run = ARGV[1], is_shared = ARGV[1] == ''}, now_ms(), book)
end
return redis.call('HGETALL', KEYS[1])
