-- Keep a block of predictions, and drop the tenant's oldest blocks beyond its limits.
-- KEYS: pending (list of 'block count bytes', oldest first; earlier versions wrote no bytes), the total number of
--       predictions, the block, the shard's hash of kept bytes by tenant, the hash of the block's raw inputs
-- ARGV: name of the block, number of its predictions, the predictions, milliseconds to keep it, most predictions,
--       tenant, most bytes, what an input takes beside its value, then the fields and values of the inputs
redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[4])
local written = #ARGV[3]
for i = 9, #ARGV, 2 do
  redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1])
  written = written + #ARGV[i + 1] + tonumber(ARGV[8])
end
if #ARGV > 8 then redis.call('PEXPIRE', KEYS[5], ARGV[4]) end
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
    return 0
  end
  local block, count, size = string.match(oldest, '^(%S+) (%d+) ?(%d*)')
  redis.call('UNLINK', KEYS[1] .. ':' .. block, KEYS[1] .. ':' .. block .. ':inputs')
  total = redis.call('DECRBY', KEYS[2], count)
  if size ~= '' then bytes = redis.call('HINCRBY', KEYS[4], ARGV[6], '-' .. size) end
end
return total
