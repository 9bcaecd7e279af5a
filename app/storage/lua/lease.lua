-- Lease the most valuable waiting items that a person has not passed.
-- KEYS: meta
-- ARGV: the prefix of the tenant's keys, person, holder, lease, most items, milliseconds of the lease, most leases of a
--       person, the incarnation and the version that the caller has applied
-- Returns {'behind'} if the log lacks labels that the caller knows, {'full'} if the person holds too many leases, or
--       {'leased', waiting, leased, expired, dropped, end of the lease, then for each item: its id, facts, passes}
local prefix, person, most = ARGV[1], ARGV[2], tonumber(ARGV[5])
local meta = redis.call('HMGET', KEYS[1], 'born', 'version')
if meta[1] == ARGV[8] and tonumber(meta[2]) < tonumber(ARGV[9]) then return {'behind'} end
local queue, born = review_queue(prefix), string.sub(meta[1] or '', 1, 8)
local now = queue.now()
queue.refresh(now, born)
local left = tonumber(ARGV[7]) - tonumber(redis.call('HGET', queue.held, person) or '0')
if left <= 0 then return {'full'} end
local ends = '0'
local found = {}
for _ = 1, math.min(most, left) do
  local item = queue.first(person, born)
  if not item then break end
  queue.leave(item)
  ends = queue.hold(item.id, tonumber(ARGV[6]), now)
  redis.call('HSET', queue.holders, item.id, ARGV[4] .. ' ' .. person .. ' ' .. ARGV[3])
  redis.call('HINCRBY', queue.held, person, 1)
  found[#found + 1] = item.id
  found[#found + 1] = item.facts
  found[#found + 1] = redis.call('HGET', queue.passes, item.id) or ''
end
for _, key in ipairs({queue.holders, queue.held}) do queue.touch(key) end
local counts = {redis.call('ZCARD', queue.waiting), redis.call('ZCARD', queue.leases)}
return {'leased', counts[1], counts[2], queue.changes.expired, queue.changes.dropped, ends, unpack(found)}
