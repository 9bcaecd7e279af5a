-- Keep a block of predictions, and drop the tenant's oldest blocks beyond its limits.
-- KEYS: pending (list of 'block count bytes', oldest first; earlier versions wrote no bytes), the total number of
--       predictions, the block, the shard's hash of kept bytes by tenant, the hash of the block's raw inputs, the demand
--       for reviews
-- ARGV: name of the block, number of its predictions, the predictions, milliseconds to keep it, most predictions,
--       tenant, most bytes, most items of the review queue, most bytes of them, how many reviews the policy wants of these
--       predictions ('' if it has no budget), what a raw input takes beside its value, the number of raw inputs, then
--       their fields and values, then for each prediction that is to be reviewed: its id, its facts
-- Returns how many items the review queue has dropped, and how many reviews all workers want in an hour ('' without a
-- budget).
redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[4])
local written, reviews = #ARGV[3], 13 + 2 * tonumber(ARGV[12])
for i = 13, reviews - 1, 2 do
  redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1])
  written = written + #ARGV[i + 1] + tonumber(ARGV[11])
end
if reviews > 13 then redis.call('PEXPIRE', KEYS[5], ARGV[4]) end
if redis.call('RPUSH', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. written) == 1 then
  -- The list is new: what was counted has expired with the list before it.
  redis.call('DEL', KEYS[2])
  redis.call('HDEL', KEYS[4], ARGV[6])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local total = redis.call('INCRBY', KEYS[2], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
local bytes = redis.call('HINCRBY', KEYS[4], ARGV[6], written)
local demand = ''
if ARGV[10] ~= '' then
  local now = tonumber(redis.call('TIME')[1])
  local hour = math.floor(now / 3600)
  local stored = redis.call('HMGET', KEYS[6], 'hour', 'sum', 'before')
  local sum, before = 0, 0
  if tonumber(stored[1]) == hour then
    sum, before = tonumber(stored[2]), tonumber(stored[3])
  elseif tonumber(stored[1]) == hour - 1 then
    before = tonumber(stored[2])
  end
  sum = sum + tonumber(ARGV[10])
  redis.call('HSET', KEYS[6], 'hour', hour, 'sum', sum, 'before', before)
  redis.call('PEXPIRE', KEYS[6], 7200000)
  demand = string.format('%.17g', sum + before * (1 - now % 3600 / 3600))
end
while total > tonumber(ARGV[5]) or bytes > tonumber(ARGV[7]) do
  local oldest = redis.call('LPOP', KEYS[1])
  if not oldest then
    redis.call('DEL', KEYS[2])
    redis.call('HDEL', KEYS[4], ARGV[6])
    return {0, demand}
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
return {dropped, demand}
