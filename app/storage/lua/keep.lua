-- Keep a block of predictions, and drop the tenant's oldest blocks beyond its limits.
-- KEYS: pending (list of 'block count bytes', oldest first; earlier versions wrote no bytes), the total number of
--       predictions, the block, the shard's hash of kept bytes by tenant, the demand for reviews
-- ARGV: name of the block, number of its predictions, the predictions, milliseconds to keep it, most predictions,
--       tenant, most bytes, how many reviews the policy wants of these predictions ('' if nobody asks)
-- Returns the total, or with a demand how many reviews all workers want in an hour.
redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[4])
if redis.call('RPUSH', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. #ARGV[3]) == 1 then
  -- The list is new: what was counted has expired with the list before it.
  redis.call('DEL', KEYS[2])
  redis.call('HDEL', KEYS[4], ARGV[6])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local total = redis.call('INCRBY', KEYS[2], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
local demand = false
if ARGV[8] ~= '' then
  local now = tonumber(redis.call('TIME')[1])
  local hour = math.floor(now / 3600)
  local stored = redis.call('HMGET', KEYS[5], 'hour', 'sum', 'before')
  local sum, before = 0, 0
  if tonumber(stored[1]) == hour then
    sum, before = tonumber(stored[2]), tonumber(stored[3])
  elseif tonumber(stored[1]) == hour - 1 then
    before = tonumber(stored[2])
  end
  sum = sum + tonumber(ARGV[8])
  redis.call('HSET', KEYS[5], 'hour', hour, 'sum', sum, 'before', before)
  redis.call('PEXPIRE', KEYS[5], 7200000)
  demand = string.format('%.17g', sum + before * (1 - now % 3600 / 3600))
end
local bytes = redis.call('HINCRBY', KEYS[4], ARGV[6], #ARGV[3])
while total > tonumber(ARGV[5]) or bytes > tonumber(ARGV[7]) do
  local oldest = redis.call('LPOP', KEYS[1])
  if not oldest then
    redis.call('DEL', KEYS[2])
    redis.call('HDEL', KEYS[4], ARGV[6])
    return demand or 0
  end
  local block, count, size = string.match(oldest, '^(%S+) (%d+) ?(%d*)')
  redis.call('UNLINK', KEYS[1] .. ':' .. block)
  total = redis.call('DECRBY', KEYS[2], count)
  if size ~= '' then bytes = redis.call('HINCRBY', KEYS[4], ARGV[6], '-' .. size) end
end
return demand or total
