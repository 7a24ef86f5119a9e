-- ENTER: write ledger lines of a run that was lost; lines that are there stay.
--
-- KEYS  1 so:run:<run>:ledger
-- ARGV  for each line: job  line
-- Reply how many lines are new
-- Writes the ledger.

local new = 0
for index = 1, #ARGV, 2 do
  new = new + redis.call('HSETNX', KEYS[1], ARGV[index], ARGV[index + 1])
end
return new
