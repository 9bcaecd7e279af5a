-- Keep a block of predictions, and drop the oldest blocks beyond the limit.
-- KEYS: pending (list of 'block count', oldest first), the total number of predictions, the block
-- ARGV: name of the block, number of its predictions, the predictions, milliseconds to keep it, most predictions
redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[4])
redis.call('RPUSH', KEYS[1], ARGV[1] .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local total = redis.call('INCRBY', KEYS[2], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
while total > tonumber(ARGV[5]) do
  local oldest = redis.call('LPOP', KEYS[1])
  if not oldest then
    redis.call('DEL', KEYS[2])
    return 0
  end
  local block, size = string.match(oldest, '^(%S+) (%d+)')
  redis.call('UNLINK', KEYS[1] .. ':' .. block)
  total = redis.call('DECRBY', KEYS[2], size)
end
return total
