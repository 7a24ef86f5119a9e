-- RETRY: forget what went wrong with jobs, so that they are sent anew.
--
-- KEYS  1 so:runlease:<run>, then for each job: so:job  so:dead
-- ARGV  1 owner  2 fence
-- Reply 'ok' or 'fenced'
-- Reads so:runlease. Writes so:job (keeps the calls that were paid) and so:dead.

if not leads(KEYS[1], ARGV[1], ARGV[2]) then return 'fenced' end
for index = 2, #KEYS, 2 do
  forget_trouble(KEYS[index], KEYS[index + 1])
end
return 'ok'
