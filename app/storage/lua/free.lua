-- Drop the oldest kept predictions of a tenant until it has at most so many bytes of them.
-- The first write must be one that a full server allows; then it allows the others too.
-- KEYS: pending (list of 'block count bytes', oldest first), the total number of predictions, the shard's hash of
--       kept bytes by tenant
-- ARGV: tenant, most bytes, most blocks to drop in this call
-- Returns the bytes that are left.
local bytes = tonumber(redis.call('HGET', KEYS[3], ARGV[1]) or '0')
for _ = 1, tonumber(ARGV[3]) do
  if bytes <= tonumber(ARGV[2]) then return bytes end
  local oldest = redis.call('LPOP', KEYS[1])
  if not oldest then
    redis.call('DEL', KEYS[2])
    redis.call('HDEL', KEYS[3], ARGV[1])
    return 0
  end
  local block, count, size = string.match(oldest, '^(%S+) (%d+) ?(%d*)')
  redis.call('UNLINK', KEYS[1] .. ':' .. block, KEYS[1] .. ':' .. block .. ':inputs')
  redis.call('DECRBY', KEYS[2], count)
  if size ~= '' then bytes = redis.call('HINCRBY', KEYS[3], ARGV[1], '-' .. size) end
end
return bytes
