-- Count the items of a review queue, after leases have ended and old items have left it.
-- KEYS: meta
-- ARGV: the prefix of the tenant's keys
-- Returns waiting, leased, expired, dropped, the facts of the oldest item or '', milliseconds since 1970, then each
-- reason and how many items it has
local queue, born = review_queue(ARGV[1]), redis.call('HGET', KEYS[1], 'born') or ''
if redis.call('EXISTS', queue.items) == 0 then return {0, 0, 0, 0, '', '0'} end
local now = queue.now()
queue.refresh(now, string.sub(born, 1, 8))
local oldest = redis.call('ZRANGE', queue.times, 0, 0)[1]
local facts = oldest and redis.call('HGET', queue.items, oldest) or ''
local counts = {redis.call('ZCARD', queue.waiting), redis.call('ZCARD', queue.leases)}
return {counts[1], counts[2], queue.changes.expired, queue.changes.dropped, facts, string.format('%.0f', now),
  unpack(redis.call('HGETALL', queue.counts))}
