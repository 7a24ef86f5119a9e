-- Functions that several scripts use; the loader puts this text in front of each of them.
-- It touches no key by itself.

-- Server time in microseconds and milliseconds: the only clock that decides anything.
local function now_us()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function now_ms() return math.floor(now_us() / 1000) end

-- Whether owner and fence are those of the present lead in so:runlease:<run>.
local function leads(run_lease, owner, fence)
  local held = redis.call('HMGET', run_lease, 'owner', 'fence')
  return held[1] == owner and held[2] == fence
end

-- Ring so:done:<run> of each run. bell = {prefix, length, ttl in ms}.
local function ring(bell, runs)
  for _, run in ipairs(runs) do
    local stream = bell[1] .. run
    redis.call('XADD', stream, 'MAXLEN', '~', bell[2], '*', 'n', '1')
    redis.call('PEXPIRE', stream, bell[3])
  end
end

-- Forget in so:job:<job> and so:dead:<job> what went wrong with a job.
local function forget_trouble(job, dead)
  redis.call('HDEL', job, 'sent', 'sends', 'claimed', 'claims', 'qclaims', 'until', 'reason',
    'rounds', 'died')
  redis.call('DEL', dead)
end

-- Mark a job dead in so:dead:<job> and tell its waiters; gives the reason.
local function bury(dead, wait, job, claims, quarantine_claims, ttl, bell)
  local reason = 'lost: ' .. claims .. ' claims were lost, then ' .. quarantine_claims
    .. ' more in quarantine'
  redis.call('SET', dead, reason, 'PX', ttl)
  redis.call('HSET', job, 'died', now_ms())
  redis.call('PEXPIRE', job, ttl)
  ring(bell, redis.call('SMEMBERS', wait))
  return reason
end

-- Take one claim off the counters of so:job:<job>, and with it its message and its calls.
local function uncount_claim(job)
  local lane = redis.call('HGET', job, 'claim_lane')
  local counter = lane == 'quarantine' and 'qclaims' or 'claims'
  if (tonumber(redis.call('HGET', job, counter)) or 0) > 0 then
    redis.call('HINCRBY', job, counter, -1)
  end
  redis.call('HDEL', job, 'sent', 'sends', 'claimed', 'claim_lane', 'calls', 'repaid')
end

-- Split an estimate "role:calls:tokens:micro_usd:owner:team:backend:priced"; the last two are
-- absent from those of earlier versions.
local function estimate_of(text)
  return string.match(text,
    '^(%a+):(%-?%d+):(%-?%d+):(%-?%d+):([^:]*):([^:]*):?([^:]*):?(%d?)$')
end

-- Count in so:spend:<day> what became of a reservation today. book = {prefix, day in ms, ttl in ms};
-- counters are names and amounts.
local function count_spending(book, run, estimate, counters)
  local role, _, _, _, owner, team, backend = estimate_of(estimate)
  local key = book[1] .. string.format('%.0f', math.floor(now_ms() / tonumber(book[2])))
  local whose = table.concat({run, owner, team, backend, role}, '|') .. '|'
  for name, amount in pairs(counters) do
    if tonumber(amount) ~= 0 then redis.call('HINCRBY', key, whose .. name, amount) end
  end
  redis.call('PEXPIRE', key, book[3])
end

-- Count the calls of a reservation that is over.
local function count_calls(book, run, estimate)
  local _, calls, _, _, _, _, _, priced = estimate_of(estimate)
  count_spending(book, run, estimate, {calls = calls, unpriced_calls = priced == '0' and calls or 0})
end

-- Everybody who pays for calls of a run: the run itself, its owner and its team ('' is nobody).
-- own = {meter, reservations, estimates} of the run; the others' keys begin with the prefix of
-- so:budget. `mark` stands before the name of a reservation, for runs may share names of them.
local function payers(run, own, prefix, owner, team)
  local list = {{scope = 'run:' .. run, run = run, meter = own[1], reservations = own[2],
    estimates = own[3], mark = ''}}
  for _, who in ipairs({{'owner', owner}, {'team', team}}) do
    if who[2] and who[2] ~= '' then
      local scope = who[1] .. ':' .. who[2]
      local base = prefix .. scope
      list[#list + 1] = {scope = scope, meter = base .. ':meter', reservations = base .. ':rsv',
        estimates = base .. ':estimates', mark = run .. '/', is_shared = true}
    end
  end
  return list
end

-- Add to the three amounts of a place (reserved_, unconfirmed_) of a meter; sign is 1 or -1.
local function add_amounts(meter, place, sign, calls, tokens, money)
  local amounts = {calls = calls, tokens = tokens, micro_usd = money}
  for name, amount in pairs(amounts) do
    -- Not times the sign: Lua has a negative zero, and writes it so.
    redis.call('HINCRBY', meter, place .. name, sign > 0 and amount or 0 - amount)
  end
end

-- Settle a reservation in force at its estimate, as unconfirmed. A run keeps the estimate, for
-- the call may be settled after all; it says then what to take from the others. Its calls count
-- in the book of the day.
local function lapse(payer, name, book)
  if redis.call('ZREM', payer.reservations, name) == 0 then return end
  local estimate = redis.call('HGET', payer.estimates, name)
  local role, calls, tokens, money = estimate_of(estimate)
  add_amounts(payer.meter, 'reserved_', -1, calls, tokens, money)
  redis.call('HINCRBY', payer.meter, 'calls_' .. role, calls)
  add_amounts(payer.meter, 'unconfirmed_', 1, calls, tokens, money)
  if payer.is_shared then
    redis.call('HDEL', payer.estimates, name)
  else
    count_calls(book, payer.run, estimate)
  end
end

-- Settle every reservation of a payer whose time is up.
local function settle_lapsed(payer, now, book)
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', payer.reservations, '-inf', now)) do
    lapse(payer, name, book)
  end
end

-- The owner that the meta of a run (JSON) names, '' if there is none.
local function owner_in(meta)
  local read, fields = pcall(cjson.decode, meta or '')
  local owner = read and type(fields) == 'table' and fields.owner
  return type(owner) == 'string' and owner or ''
end

-- How many of the open runs each owner has; run_prefix is that of so:run.
local function open_runs_by_owner(open_runs, run_prefix)
  local counts = {}
  for _, run in ipairs(redis.call('ZRANGE', open_runs, 0, -1)) do
    local owner = owner_in(redis.call('HGET', run_prefix .. run, 'meta'))
    if owner ~= '' then counts[owner] = (counts[owner] or 0) + 1 end
  end
  return counts
end

-- nil, or {'quota', owner, open runs, limit} if so:quota:<owner> allows no further open run.
local function quota_refusal(owner, open_runs, run_prefix, quota_prefix)
  if owner == '' then return nil end
  local limit = tonumber(redis.call('HGET', quota_prefix .. owner, 'max_runs') or '')
  if not limit then return nil end
  local count = open_runs_by_owner(open_runs, run_prefix)[owner] or 0
  if count < limit then return nil end
  return {'quota', owner, count, limit}
end

-- Calls allowed at a time by so:aimd and the bounds of the catalogue; nil if nothing limits them.
local function allowed_slots(aimd, least, most)
  local allowed = tonumber(redis.call('HGET', aimd, 'allowed') or '')
  if allowed then allowed = math.max(allowed, tonumber(least)) end
  if most ~= '' then allowed = math.min(allowed or tonumber(most), tonumber(most)) end
  return allowed
end
