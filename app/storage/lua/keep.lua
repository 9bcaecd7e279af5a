-- Keep a block of predictions, and drop the tenant's oldest blocks beyond its limits.
-- KEYS: pending (list of 'block count bytes', oldest first; earlier versions wrote no bytes), the total number of
--       predictions, the block, the shard's hash of kept bytes by tenant, the hash of the block's raw inputs
-- ARGV: name of the block, number of its predictions, the predictions, milliseconds to keep it, most predictions,
--       tenant, most bytes, most items of the review queue, most bytes of them, what a raw input takes beside its value,
--       the number of raw inputs, then their fields and values, then for each prediction that is to be reviewed: its
--       id, its facts
-- Returns the number of kept predictions, and how many items the review queue has dropped.
redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[4])
local written, reviews = #ARGV[3], 12 + 2 * tonumber(ARGV[11])
for i = 12, reviews - 1, 2 do
  redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1])
  written = written + #ARGV[i + 1] + tonumber(ARGV[10])
end
if reviews > 12 then redis.call('PEXPIRE', KEYS[5], ARGV[4]) end
if redis.call('RPUSH', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. written) == 1 then
  -- The list is new: what was counted has expired with the list before it.
  redis.call('DEL', KEYS[2])
  redis.call('HDEL', KEYS[4], ARGV[6])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local total = redis.call('INCRBY', KEYS[2], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
local bytes = redis.call('HINCRBY', KEYS[4], ARGV[6], written)
while total > tonumber(ARGV[5]) or bytes > tonumber(ARGV[7]) do
  local oldest = redis.call('LPOP', KEYS[1])
  if not oldest then
    redis.call('DEL', KEYS[2])
    redis.call('HDEL', KEYS[4], ARGV[6])
    return {0, 0}
  end
  local block, count, size = string.match(oldest, '^(%S+) (%d+) ?(%d*)')
  redis.call('UNLINK', KEYS[1] .. ':' .. block, KEYS[1] .. ':' .. block .. ':inputs')
  total = redis.call('DECRBY', KEYS[2], count)
  if size ~= '' then bytes = redis.call('HINCRBY', KEYS[4], ARGV[6], '-' .. size) end
end

local function review()
  local prefix = string.sub(KEYS[1], 1, -9) -- without ':pending'
  local queue, born = review_queue(prefix), redis.call('HGET', prefix .. ':meta', 'born')
  local now = queue.now()
  if not born then return 0 end -- the tenant was deleted
  born = string.sub(born, 1, 8)
  for i = reviews, #ARGV, 2 do
    local id = ARGV[i]
    if redis.call('HEXISTS', queue.items, id) == 0 and not queue.is_labelled(id, born) then
      queue.add(id, born .. ' ' .. ARGV[i + 1], now, ARGV[4])
    end
  end
  queue.limit(tonumber(ARGV[8]), tonumber(ARGV[9]))
  return queue.changes.dropped
end

local dropped = 0
if #ARGV > reviews and redis.call('EXISTS', KEYS[3]) == 1 then
  local is_done, result = pcall(review) -- predictions are kept also if the queue is damaged
  dropped = is_done and result or (#ARGV + 1 - reviews) / 2
end
return {total, dropped}
