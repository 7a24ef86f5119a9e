-- SPEND: read a run's meter, with lapsed reservations settled first.
--
-- KEYS  1 so:run:<run>:meter  2 so:run:<run>:rsv  3 so:run:<run>:estimates
-- ARGV  1 'all' to settle what has not lapsed yet as well, else ''
-- Reply the fields and values of the meter, in turn
-- Writes all three keys if something lapsed.

settle_lapsed(KEYS[1], KEYS[2], KEYS[3], ARGV[1] == 'all' and '+inf' or now_ms())
return redis.call('HGETALL', KEYS[1])
