-- End or renew the lease of an item: skip, unsure, release or renew.
-- KEYS: meta
-- ARGV: the prefix of the tenant's keys, action, prediction_id, person, lease ('' for that of this person),
--       milliseconds of a renewed lease, how many people may be unsure, how many people may pass
-- Returns {'lost', ''} if it is not leased by this person, or not in the queue: with what is the case instead; or
--       {'done', waiting, leased, expired, dropped, end of the renewed lease or ''}
local prefix, action, id, person, lease = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local queue, born = review_queue(prefix), redis.call('HGET', KEYS[1], 'born') or ''
local now = queue.now()
queue.refresh(now, string.sub(born, 1, 8))
local ends = ''

local function done()
  local counts = {redis.call('ZCARD', queue.waiting), redis.call('ZCARD', queue.leases)}
  return {'done', counts[1], counts[2], queue.changes.expired, queue.changes.dropped, ends}
end

local pass = action == 'skip' and 'S' or action == 'unsure' and 'U'
local item = queue.item(id)
if not item then return {'lost', 'gone'} end
local holder = redis.call('HGET', queue.holders, id)
local given, whose = string.match(holder or '', '^(%S+) (%S+)')
if not holder or (lease ~= '' and given ~= lease) or (lease == '' and whose ~= person) then
  -- A request that is sent again has ended the lease before.
  local is_again = action == 'release' and not holder
  queue.each_pass(id, function(other, before) is_again = is_again or (other == person and before == pass) end)
  return is_again and done() or {'lost', holder and 'leased' or 'waiting'}
end
if action == 'renew' then
  ends = queue.hold(id, tonumber(ARGV[6]), now)
  return done()
end
queue.unlease(id)
if pass then
  local all, unsure = 1, pass == 'U' and 1 or 0
  local kept = {person .. pass}
  queue.each_pass(id, function(other, before)
    if other ~= person then
      all, kept[#kept + 1] = all + 1, other .. before
      if before == 'U' then unsure = unsure + 1 end
    end
  end)
  redis.call('HSET', queue.passes, id, table.concat(kept))
  queue.touch(queue.passes)
  if unsure >= tonumber(ARGV[7]) or all >= tonumber(ARGV[8]) then
    queue.drop(item)
    return done()
  end
end
queue.enter(item)
return done()
